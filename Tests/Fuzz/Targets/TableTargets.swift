import Foundation
import Yams

@testable import BBCases
@testable import BBConformance
@testable import BBDongles
@testable import BBProducts

extension FuzzTarget {
    private static let vocabulary = Vocabulary.declared(covers: ["HCI/DSU/BV-02-C"])

    /// A description of a product: mistakes have their places, and what is read can be written and read again.
    static let devices = FuzzTarget(
        name: "device", layer: nil, isText: true,
        seeds: { Seeds.files(below: "Examples", ending: "device.yaml", limit: 6_000) + [Array(described.utf8)] },
        run: { input in
            do throws(Problems) {
                let description = try DeviceDescription.read(String(decoding: input, as: UTF8.self), file: "device.yaml")
                let text = description.yaml
                guard let again = try? DeviceDescription.read(text, file: "again.yaml") else {
                    throw Problems([Problem(Position(file: "again.yaml", line: 0, column: 0), "what was written cannot be read")])
                }
                if again.yaml != text {
                    throw Problems([Problem(Position(file: "again.yaml", line: 0, column: 0), "what is read again differs")])
                }
            } catch { try check(error.list) }
        })

    private static let described = """
        device: {name: Product, address: "C0:B1:BE:00:00:01/random"}
        advertising: {connectable: true, legacy: true, data: 02 01 06, response: 03 09 41 42, period: 100 ms}
        link: {features: [], version: 12, company: 5, mtu: 247, phys: [1M, 2M], dataLength: 251, asks: [mtu], readvertises: 30 ms}
        pairing: {io: NoInputNoOutput, requirements: [bonding], keySize: 16}
        services:
          - uuid: "180F"
            handles: [1, 9]
            characteristics:
              - {uuid: "2A19", declaration: 2, handle: 3, end: 4, properties: [read, notify], value: 64,
                 descriptors: [{uuid: "2902", handle: 4, value: 00 00}]}
        declares:
          bonds: true
          readvertisesWithin: 2 s
          protects: [{characteristic: "2A19", needs: encryption, access: [read]}]
          sends: [{characteristic: "2A19", within: 2 s, after: {characteristic: "2A19", value: 01}}]
          channels: [{psm: 0x80, echoes: true, needs: encryption}]
        leaveOut: [{case: "accessory-gatt/*", because: none}]
        remarks: [one]
        """

    /// A profile's rules.
    static let profiles = FuzzTarget(
        name: "profiles", layer: nil, isText: true,
        seeds: { Seeds.files(below: "Conformance/profiles", ending: ".yaml", limit: 60_000).map { Array($0.prefix(3_000)) } },
        run: { input in
            let file = ScratchFile(".yaml")
            try file.write(input)
            defer { file.remove() }
            var problems: [Problem] = []
            let profile = AccessoryProfile.read(file.path, id: "p", &problems)
            try promise(profile != nil || !problems.isEmpty, "no profile and no problem")
            for rule in profile?.rules.values.map(\.self) ?? [] { _ = (rule.citation, rule.values.times("most"), rule.values.time("most")) }
            try check(problems)
        })

    /// A table of known dongles: all of it is taken, or nothing.
    static let knownDongles = FuzzTarget(
        name: "known-dongles", layer: nil, isText: true,
        seeds: {
            Seeds.files(below: "Sources/Dongles", ending: ".yaml", limit: 60_000).map { Array($0.prefix(3_000)) } + [Array(dongles.utf8)]
        },
        run: { input in
            var table = KnownDongles(rows: [], addresses: [])
            do throws(TableErrors) { try table.add(String(decoding: input, as: UTF8.self), file: "own.yaml") } catch {
                try promise(!error.list.isEmpty && table.rows.isEmpty && table.addresses.isEmpty, "taken in part")
                try promise(error.list.allSatisfy { $0.line >= 1 && $0.column >= 0 }, "an error without a place")
                return
            }
            for vendor in [0x0A12, 0x0BDA] as [UInt16] { _ = table.find(vendor: vendor, product: 1, release: 0x8891) }
            _ = DongleWorkarounds(table.rows)
        })

    private static let dongles = """
        dongles:
          - {id: a-1, name: A, match: {usb: 0A12:0001, device: 0100..0116, company: 10, hci_version: 6..9}, conduct: c, source: s,
             do: [], avoid: [HCI_Reset], advice: a}
        addresses:
          - {address: "00:1A:7D:DA:71:*", origin: o}
        """

    /// Mutants and variants, whichever the file is.
    static let mutants = deviations(named: "mutants", in: "Conformance/mutants") { $0.mutant($1, id: "m", cases: ["gatt/a.yaml"]) != nil }
    static let variants = deviations(named: "variants", in: "Conformance/variants") { !$0.variants($1, id: "v").isEmpty }

    private static func deviations(
        named name: String, in folder: String, _ read: @escaping @Sendable (inout SourceReader, Node) -> Bool
    ) -> FuzzTarget {
        FuzzTarget(
            name: name, layer: nil, isText: true, seeds: { Seeds.files(below: folder, ending: ".yaml", limit: 3_000) },
            run: { input in
                var reader = SourceReader(file: "\(name).yaml", vocabulary: vocabulary)
                guard let root = reader.compose(String(decoding: input, as: UTF8.self)) else {
                    return try promise(!reader.problems.isEmpty, "nothing and no problem")
                }
                try promise(read(&reader, root) || !reader.problems.isEmpty, "nothing and no problem")
                try check(reader.problems)
            })
    }

    private static func check(_ problems: [Problem]) throws {
        try promise(problems.allSatisfy { $0.position.line >= 1 && $0.position.column >= 0 }, "a problem without a place: \(problems)")
        _ = problems.map { "\($0)" }
    }
}
