import ArgumentParser
import Cases
import Conformance
import Foundation
import HCI
import Host
import Packets
import Report
import Timing
import Transport
import TransportUSB

/// `bluebench run`: runs cases against a subject.
struct RunCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "run", abstract: "Run cases against a subject and write a report.",
        discussion: """
            Devices: virtual, tcp:HOST:PORT, unix:PATH, serial:PATH[,SPEED], usb:BUS-PORT, usb:VID:PID[/SERIAL]. \
            An accessory with a host of its own connects to the virtual controller that --subject-port serves, or is found over the air with --peer.
            """)

    @Argument(help: "Suites or cases: phy, phy/central-asks-2m, 'gap-*'. All by default.", completion: Completions.cases)
    var filters: [String] = []
    @Option(help: ArgumentHelp("Who tests.", valueName: "device"), completion: Completions.devices) var tester = "virtual"
    @Option(
        help: ArgumentHelp(
            "Who is tested: a device as above, or air for one with a host of its own, which --peer finds.", valueName: "device"),
        completion: Completions.devices)
    var subject = "virtual"
    @Option(
        help: ArgumentHelp(
            "Who is tested over the air: its name, its address, or the UUID of a service that it advertises. Sets --subject air with a real tester.",
            valueName: "peer"), transform: { PeerSelector($0) })
    var peer: PeerSelector?
    @Option(help: "In the simulation, which accessory of ours is tested: reference, heart-rate, keyboard, thermometer or serial.")
    var accessory = AccessoryKind.reference
    @Option(
        name: .customLong("device"),
        help: ArgumentHelp("The description of it, as `bluebench survey` prints; without one it is surveyed first.", valueName: "file"),
        completion: .file())
    var description: String?
    @Option(
        help: ArgumentHelp(
            "Judge an accessory by these rules, too: a file of `profiles` beside the suites: adg-r31, adg-r17.",
            valueName: "name"))
    var profile: String?
    @Option(
        help: ArgumentHelp(
            "The tester's address: auto (the public one, or a static one where there is none), random (a static one) or a static one in full.",
            valueName: "address"), transform: Arguments.ownAddress)
    var testerAddress: OwnAddress?
    @Option(help: ArgumentHelp("The subject's address, likewise.", valueName: "address"), transform: Arguments.ownAddress)
    var subjectAddress: OwnAddress?
    @Option(
        help: ArgumentHelp("Serve the subject's controller to a foreign host: tcp-listen:PORT or unix-listen:PATH.", valueName: "where"))
    var subjectPort: String?
    @Option(
        name: [.customLong("wait-for-host"), .customLong("time-out")],
        help: ArgumentHelp("Seconds to wait for the foreign host.", valueName: "s"), transform: Arguments.whole(1...86_400))
    var timeOut = 30
    @Option(
        help: ArgumentHelp(
            "A folder of cases of one's own. Suites and cases that are named are looked for in it and among ours.", valueName: "folder"),
        completion: .directory)
    var cases = CaseFolder.standard
    @Option(
        name: .customLong("case"), help: ArgumentHelp("Only this case; may be repeated.", valueName: "id"), completion: Completions.cases)
    var only: [String] = []
    @Option(
        name: .customLong("suite"), help: ArgumentHelp("Only this suite; may be repeated.", valueName: "name"),
        completion: Completions.suites)
    var suites: [String] = []
    @Option(
        name: .customLong("tag"), help: ArgumentHelp("Only cases with this tag: usb. May be repeated.", valueName: "name"),
        completion: Completions.tags)
    var tags: [String] = []
    @Option(help: ArgumentHelp("Fixes every random choice.", valueName: "n"), transform: Arguments.seed) var seed: UInt64 = 1
    @Option(
        help: ArgumentHelp(
            "What real devices may be late: added to the ends of windows in which something must come. 100 by default.", valueName: "ms"),
        transform: Arguments.whole(0...10_000))
    var slack: Int?
    @Option(help: ArgumentHelp("Run the cases in an order drawn from this seed.", valueName: "seed"), transform: Arguments.seed)
    var shuffle: UInt64?
    @Option(name: .customLong("set"), help: ArgumentHelp("Set a parameter: NAME=VALUE or SUITE/CASE.NAME=VALUE.", valueName: "n=v"))
    var values: [String] = []
    @Flag(help: "List the cases that would run.") var list = false
    @Flag(help: "Repeat each FAIL with the tester's and the subject's dongle exchanged, and say whether it went with the dongle.")
    var swap = false
    @Flag(help: "Continue the run whose results are in the report folder.") var resume = false
    @Flag(help: "Measure throughput too, and draw it into the page: two virtual devices only.") var throughput = false
    @OptionGroup var firmware: FirmwareOptions
    @Option(
        help: ArgumentHelp(
            "When a device is lost, or not there yet, wait so long for it to come back; the case that was broken off is run again.",
            valueName: "s"), transform: Arguments.whole(1...86_400))
    var waitForReplug: Int?
    @Option(
        help: ArgumentHelp(
            "What is tested, by a name of one's own: a firmware's. In all reports, and what `history` counts by.", valueName: "name"))
    var build: String?
    @Option(help: ArgumentHelp("A word of one's own about the run, for its reports. May be repeated.", valueName: "name=value"))
    var label: [String] = []
    @OptionGroup var store: BondOptions
    @OptionGroup var controls: RunControls
    @OptionGroup var outputs: ReportOptions

    func run() throws {
        try checkOptions()
        let catalogue = try CaseFolder.load(cases, matching: filters + only + suites, needsProfiles: profile != nil)
        let isAlone = isForOne && catalogue.hasCasesForOne(filters + only + suites)
        let ends = try BenchEnds(tester: tester, subject: subjectName, port: subjectPort, isAlone: isAlone)
        var setup = try setup(ends)
        setup.isAlone = isAlone
        var plan: RunPlan
        do {
            plan = try RunPlan(catalogue: catalogue, setup: setup, filters: filters + only + suites, tags: tags, shuffle: shuffle)
        } catch {
            throw CommandFailure(.usage, error.list.map { "\($0.position.file): \($0.text)" }.joined(separator: "; "))
        }
        plan.swapsFailures = swap
        plan.keepsTraces = true
        guard try controls.narrow(&plan, report: outputs.report) else { return }
        plan.parameters = try RunParameters.read(values, plan.cases)
        if let description {
            do { plan.device = try DeviceDescription.load(description) } catch { throw CommandFailure(.usage, "\(error)") }
            plan.deviceFile = URL(fileURLWithPath: description).lastPathComponent
        }
        plan.labels = try labels()
        if list {
            for testCase in plan.cases { Console.line("\(testCase.id)  \(PlainText.escaped(testCase.title))") }
            return
        }
        guard !plan.cases.isEmpty else { throw CommandFailure(.bench, "no case ran: there is none in \(cases)") }
        try execute(&plan, ends)
    }

    // MARK: Options

    private func labels() throws -> [String: String] {
        var labels = build.map { [RunResult.buildLabel: $0] } ?? [:]
        for text in label {
            let parts = text.split(separator: "=", maxSplits: 1).map(String.init)
            guard parts.count == 2 else { throw CommandFailure(.usage, "--label \(text): write NAME=VALUE") }
            labels[parts[0]] = parts[1]
        }
        return labels
    }

    /// Rejects options without effect.
    private func checkOptions() throws {
        try controls.check(report: outputs.report)
        if resume, outputs.report == nil {
            throw CommandFailure(.usage, "--resume continues the run of a report folder: name it with --report")
        }
        if throughput, outputs.report == nil, outputs.html == nil {
            throw CommandFailure(.usage, "--throughput is drawn into a page: name one with --html or --report")
        }
        if outputs.idleAir, outputs.report == nil, outputs.capture == nil {
            throw CommandFailure(.usage, "--idle-air is about a capture: name one with --capture or --report")
        }
        if outputs.keylog != nil, tester != "virtual" || subject != "virtual" {
            throw CommandFailure(.usage, "--keylog is of links on the simulated air: no dongle tells its keys")
        }
        if swap, subjectPort != nil || subject == "none" {
            throw CommandFailure(.usage, "--swap exchanges two dongles of the bench: the subject here has its own")
        }
        if subjectPort == nil, let option = ["--time-out", "--wait-for-host"].first(where: Arguments.given) {
            throw CommandFailure(.usage, "\(option) is how long --subject-port waits for a host")
        }
        if subjectAddress != nil, subjectPort != nil || subjectName == BenchEnds.overTheAir {
            throw CommandFailure(.usage, "--subject-address is for a subject whose controller the bench drives; this one chooses its own")
        }
        if accessory != .reference, tester != "virtual" || subject != "virtual" || subjectPort != nil {
            throw CommandFailure(.usage, "--accessory is which of ours is in the simulation; a device over the air is named by --peer")
        }
        if subjectPort != nil, Arguments.given("--subject") {
            throw CommandFailure(.usage, "--subject and --subject-port are two subjects")
        }
    }

    /// True if a real subject is given without a tester: only cases for a single device run.
    private var isForOne: Bool {
        Arguments.given("--subject") && !Arguments.given("--tester") && subject != "virtual" && subjectName != BenchEnds.overTheAir
            && subjectPort == nil
    }

    /// The subject, which is over the air by default if a peer is given.
    var subjectName: String {
        peer != nil && tester != "virtual" && !Arguments.given("--subject") ? BenchEnds.overTheAir : subject
    }

    /// Returns the bond with only the key that resolves private addresses, so that the tester is otherwise unknown to the device.
    private static func resolving(_ bond: Bond) -> Bond? {
        guard let key = bond.identityResolvingKey else { return nil }
        var known = Bond(bond.identity)
        known.identityResolvingKey = key
        return known
    }

    private func setup(_ ends: BenchEnds) throws -> BenchSetup {
        if throughput, !ends.areVirtual {
            throw CommandFailure(.usage, "--throughput needs two virtual devices; measure others by `bluebench throughput`")
        }
        var setup = BenchSetup(tester: ends.tester, subject: ends.subjectDevice, seed: seed)
        setup.peer = peer
        setup.accessory = accessory
        setup.profile = profile
        if peer != nil { setup.known = try store.read().all.compactMap(Self.resolving) }
        setup.knownDongles = try firmware.known.read()
        setup.opener = try firmware.opener()
        setup.ownAddresses = [.tester: testerAddress, .subject: subjectAddress].compactMapValues(\.self)
        guard let slack else { return setup }
        guard !ends.areVirtual else {
            throw CommandFailure(.usage, "--slack is for wall time: nothing is late between two virtual devices")
        }
        setup.slack = .milliseconds(slack)
        return setup
    }
}

/// The parameter values on the command line.
enum RunParameters {
    private static func hint(for name: String, _ cases: [TestCase]) -> String {
        let names = Set(cases.flatMap { $0.parameters.map(\.name) }).sorted()
        let near = Suggestion.text(for: name, among: names)
        return near.isEmpty && !names.isEmpty ? "; there are \(names.joined(separator: ", "))" : near
    }

    static func read(_ texts: [String], _ cases: [TestCase]) throws -> [String: CaseValue] {
        var values: [String: CaseValue] = [:]
        for text in texts {
            let parts = text.split(separator: "=", maxSplits: 1).map(String.init)
            guard parts.count == 2 else { throw CommandFailure(.usage, "--set takes NAME=VALUE, not '\(text)'") }
            let matching = cases.flatMap { testCase in
                testCase.parameters.filter { $0.name == parts[0] || testCase.id + "." + $0.name == parts[0] }
            }
            guard let parameter = matching.first else {
                throw CommandFailure(.usage, "no case that would run has a parameter '\(parts[0])'" + hint(for: parts[0], cases))
            }
            let number = Int(parts[1]) ?? (parts[1].hasPrefix("0x") ? Int(parts[1].dropFirst(2), radix: 16) : nil)
            if let range = parameter.range {
                guard let number, range.contains(number) else {
                    throw CommandFailure(.usage, "\(parts[0]) is a number from \(range.lowerBound) to \(range.upperBound)")
                }
            }
            values[parts[0]] = number.map { .number($0) } ?? .text(parts[1])
        }
        return values
    }
}
