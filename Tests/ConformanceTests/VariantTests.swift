import BBPackets
import Foundation
import Testing

@testable import BBCases
@testable import BBConformance

/// Conforming devices that behave differently from the default: how they are read, and that they do differ.
@Suite struct VariantTests {
    static func variant(_ yaml: String) throws -> Variant { try variants(yaml)[0] }

    static func variants(_ yaml: String) throws -> [Variant] {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString).path
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try yaml.write(toFile: folder + "/one.yaml", atomically: true, encoding: .utf8)
        return try Variant.load(folder, vocabulary: .declared(covers: []))
    }

    static let head = "title: T\nallowed_by: \"Core Vol 4, Part E, 3.1: it is optional\"\n"

    static let mistakes: [(yaml: String, text: String)] = [
        ("title: T\nsubject: {le-buffers: 27x1}\n", "needs `title:` and `allowed_by:`"),
        ("title: T\nallowed_by: because\nsubject: {le-buffers: 27x1}\n", "begins with a section"),
        (head, "like the usual world"),
        (head + "subject: {hop-offset: 1}\n", "defects, which only mutants have"),
        (head + "subject: {lacks: [LE_Rant]}\n", "did you mean LE_Rand?"),
        (head + "subject: {lacks-events: [LE_Rand]}\n", "there is no 'LE_Rand'"),
        (head + "accessory: {server-mtu: 22}\n", "is not a value of the quirk: use server-mtu=23...65535"),
        (head + "accessory: {sever-mtu: 23}\n", "did you mean server-mtu?"),
        (head + "subject: {aclCount: 1}\n", "there is no quirk 'aclCount' of controllers; did you mean le-buffers?"),
        (head + "subject: {maxOctets: 60}\n", "did you mean max-octets?"),
        (head + "subject: {high-speed: true}\n", "acts on USB requests"),
        (head + "subject: {advertising-sets: 0}\n", "defects, which only mutants have"),
        (head + "subject: {chip: csr8510}\n", "`legal-chip:` leaves them out"),
        (head + "subject: {chip: csr8511}\n", "there is no chip 'csr8511'; did you mean csr8510?"),
        (head + "surroundings: {neighbours: {dance: 1}}\n", "neighbours has no 'dance'"),
        (head + "surroundings: {packetErrorRate: 2}\n", "from 0 to 1"),
        (head + "sides: [subject]\n", "`sides:` and `controller:` belong together"),
        (head + "controller: {le-buffers: 27x1}\n", "`sides:` and `controller:` belong together"),
        (head + "sides: [air]\ncontroller: {le-buffers: 27x1}\n", "a side is `subject` or `tester`, not 'air'"),
    ]

    @Test(arguments: mistakes)
    func mistakesAreFound(_ yaml: String, _ text: String) throws {
        do {
            _ = try Self.variant(yaml)
            Issue.record("no mistake found in \(yaml)")
        } catch let problems as Problems {
            #expect("\(problems)".contains(text), "\(problems)")
        }
    }

    @Test func aFileWithSidesGivesOneVariantForEach() throws {
        let variants = try Self.variants(Self.head + "sides: [subject, tester]\ncontroller: {le-buffers: 27x1}\ntester: {max-octets: 60}\n")
        #expect(variants.map(\.id) == ["one-subject", "one-tester"])
        #expect(variants.map { $0.world.subject.map(\.name) } == [["le-buffers"], []])
        #expect(variants.map { $0.world.tester.map(\.name) } == [["max-octets"], ["max-octets", "le-buffers"]])
    }

    @Test func aCasesOwnWorldCountsBeforeAVariants() throws {
        let variant = try Self.variant(Self.head + "tester: {max-octets: 60, le-buffers: 27x1}\nsurroundings: {packetErrorRate: 0.1}\n")
        var own = World()
        own.tester = [QuirkSetting(name: "max-octets", value: .number(100), position: variant.position)]
        own.packetErrorRate = 0.3
        let world = own.under(variant.world)
        #expect(world.tester.map(\.name) == ["max-octets", "le-buffers", "max-octets"] && world.tester.last?.value == .number(100))
        #expect(world.packetErrorRate == 0.3)
    }

    @Test func theVariantsOfTheSuitesAreSound() throws {
        let variants = try Variant.load(SuiteTests.folder + "/variants", vocabulary: .declared(covers: []))
        #expect(variants.count >= 12 && Set(variants.map(\.title)).count == variants.count)
    }

    /// A command that is neither supported nor known is not judged anywhere in a case: a controller that does not scan.
    @Test func commandsThatAreNotThereAreNotJudged() throws {
        let scan = "LE_Set_Scan_Parameters, LE_Set_Scan_Enable, LE_Set_Extended_Scan_Parameters, LE_Set_Extended_Scan_Enable"
        let variant = try Self.variant(Self.head + "subject: {lacks: [\(scan)]}\n")
        let trial = VariantTrial(catalogue: try SuiteTests.catalogue(), filters: ["gap-scan", "hci/states-have-commands"])
        let result = try trial.run(variant, seed: 1)
        #expect(result.cases.filter { $0.verdict == .pass }.map(\.id) == ["hci/states-have-commands"])
        #expect(result.count(.notApplicable) == result.cases.count - 1)
        let reason = result.cases.first { $0.id == "gap-scan/duration" }?.message
        #expect(reason?.contains("subject.LE_Set_Extended_Scan_Parameters") == true, "\(reason ?? "")")
    }

    /// A version 4.0 controller skips cases that it lacks features for, and passes the others.
    @Test func aVariantIsTriedWithEveryCase() throws {
        let variant = try Self.variant(Self.head + "subject: {core-version: 6}\n")
        let trial = VariantTrial(catalogue: try SuiteTests.catalogue(), filters: ["dle", "gap-conn/answers-version[side=peripheral]"])
        let result = try trial.run(variant, seed: 1)
        #expect(result.count(.notApplicable) > 0 && result.count(.pass) > 0)
        #expect(try trial.run(variant, seed: 1).cases.map(\.verdict) == result.cases.map(\.verdict))
    }
}
