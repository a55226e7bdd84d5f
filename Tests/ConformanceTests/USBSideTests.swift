import BBCapture
import BBPackets
import Foundation
import Testing

@testable import BBCases
@testable import BBConformance

/// Cases on virtual dongles that are reached in several ways, in virtual time.
@Suite struct USBSideTests {
    private static let overUSBIP = VirtualUSB(link: { USBIPLink($0) })
    private static let legacy = VirtualUSB(isEverywhere: true)
    private static let serialised = VirtualUSB(isEverywhere: true, startsSerialised: true)
    private static let serialisedOverUSBIP = VirtualUSB(isEverywhere: true, startsSerialised: true, link: { USBIPLink($0) })

    private static func run(
        _ filters: [String], _ usb: VirtualUSB, fault: Fault = Fault(), world: World = World(), capture: String? = nil
    ) throws -> [CaseResult] {
        var setup = BenchSetup(tester: .virtual, subject: .virtual, seed: 3)
        setup.usb = usb
        let plan = try RunPlan(catalogue: SuiteTests.catalogue(), setup: setup, filters: filters)
        let recorder = try Recorder(path: capture)
        let result = try Runner(plan, recorder: recorder, fault: fault, surroundings: world).run()
        try recorder.finish()
        return result.cases
    }

    private static func lines(_ results: [CaseResult]) -> [String] { results.map { "\($0.id) \($0.verdict) \($0.message)" } }

    // MARK: USB/IP

    /// The suite has the verdicts and messages over USB/IP that it has without, and each variant about USB passes.
    @Test func theSuiteHasItsVerdictsOverUSBIP() throws {
        let found = try Self.run(["usb-transport"], Self.overUSBIP)
        #expect(found.count >= 33 && found.allSatisfy { $0.verdict == .pass }, "\(Self.lines(found))")
        #expect(try Self.lines(found) == Self.lines(Self.run(["usb-transport"], VirtualUSB())))
        let variants = try Variant.load(SuiteTests.folder + "/variants", vocabulary: .declared(covers: []))
            .filter { $0.only == ["usb-transport"] }
        #expect(variants.count >= 11)
        for variant in variants {
            let found = try Self.run(["usb-transport"], Self.overUSBIP, world: variant.world)
            #expect(found.allSatisfy { $0.verdict == .pass || $0.verdict == .notApplicable }, "\(variant.id): \(Self.lines(found))")
            #expect(found.count { $0.verdict == .pass } >= 20)
        }
    }

    /// Each mutant about USB fails a case over USB/IP.
    @Test func theMutantsDieOverUSBIP() throws {
        let all = try Mutant.load(SuiteTests.folder + "/mutants", catalogue: SuiteTests.catalogue(), vocabulary: .declared(covers: []))
        let mutants = all.filter { $0.killers.contains { $0.hasPrefix("usb-transport/") } }
        #expect(mutants.count >= 26)
        for mutant in mutants {
            let found = try Self.run(mutant.killers, Self.overUSBIP, fault: mutant.fault)
            #expect(found.contains { $0.verdict == .fail }, "\(mutant.id): \(Self.lines(found))")
        }
    }

    /// The table of the rules names what there is: every case, mutant and variant about USB, and nothing else.
    @Test func theTableOfTheRulesIsComplete() throws {
        let root = SuiteTests.folder + "/.."
        let page = try String(contentsOfFile: root + "/docs/design/usb.md", encoding: .utf8)
        let rows = page.components(separatedBy: "## ")[0].split(separator: "\n").filter { $0.hasPrefix("| ") }
        var names: [Set<String>] = [[], [], []]
        for row in rows {
            let cells = row.split(separator: "|", omittingEmptySubsequences: false).dropFirst(2).dropLast()
            for (place, cell) in zip(cells.count == 3 ? [3, 3, 0] : [1, 2], cells) where place < 3 {
                names[place].formUnion(cell.matches(of: /`([^`]+)`/).map { String($0.output.1.prefix { $0 != "[" }) })
            }
        }
        func files(_ folder: String, _ prefix: String) throws -> Set<String> {
            let all = try FileManager.default.contentsOfDirectory(atPath: SuiteTests.folder + "/" + folder)
            return Set(all.filter { $0.hasPrefix(prefix) && $0.hasSuffix(".yaml") }.map { String($0.dropFirst(prefix.count).dropLast(5)) })
        }
        #expect(try names[0] == files("usb-transport", ""))
        #expect(try names[1] == files("mutants", "usb-"))
        #expect(try names[2] == files("variants", "usb-"))
    }

    // MARK: Modes

    /// A run's results, the packets of its capture by side and direction, and the capture's octets.
    private struct Recording {
        var results: [CaseResult]
        var packets: [Way: [HCIPacket]] = [:]
        var octets: [UInt8]

        struct Way: Hashable {
            var interface: Int
            var direction: CaptureDirection?
            var kind: HCIPacket.Kind
        }

        init(_ filters: [String], _ usb: VirtualUSB) throws {
            let path = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString + ".pcapng").path
            defer { try? FileManager.default.removeItem(atPath: path) }
            results = try USBSideTests.run(filters, usb, capture: path)
            octets = try Array(Data(contentsOf: URL(fileURLWithPath: path)))
            let reader = try CaptureReader(path: path)
            while let record = try reader.next() {
                guard case .hci(let packet, let direction) = record.content else { continue }
                packets[Way(interface: record.interface, direction: direction, kind: packet.kind), default: []].append(packet)
            }
        }
    }

    /// In Bulk Serialization mode the verdicts are those of the legacy mode, and so are the packets of each kind, in their order. The same seed
    /// gives the same octets. A sample of the cases with the tag `usb`; all of them with SOAK=1.
    @Test func theModeChangesNoVerdictAndNoPacket() throws {
        let cases = try SuiteTests.catalogue().cases.filter { $0.tags.contains(CaseTag.usb) && !$0.id.hasPrefix("usb-transport/") }
        let step = ProcessInfo.processInfo.environment["SOAK"] == "1" ? 1 : 24
        let ids = cases.enumerated().filter { $0.offset % step == 0 }.map(\.element.id)
        let serialised = try Recording(ids, Self.serialised)
        #expect(try Recording(ids, Self.serialised).octets == serialised.octets)
        #expect(try Recording(ids, Self.serialisedOverUSBIP).octets == serialised.octets)
        let legacy = try Recording(ids, Self.legacy)
        #expect(Self.lines(serialised.results) == Self.lines(legacy.results))
        #expect(serialised.results.count { $0.verdict == .pass } * 10 >= ids.count * 9, "\(Self.lines(serialised.results))")
        #expect(Set(serialised.packets.keys) == Set(legacy.packets.keys))
        for (way, packets) in serialised.packets { #expect(packets == legacy.packets[way], "\(way)") }
        #expect(serialised.packets.values.reduce(0) { $0 + $1.count } > 400)
    }
}
