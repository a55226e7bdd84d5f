import BBPackets
import BBTransport
import Foundation
import Testing

@testable import BBCases
@testable import BBConformance

/// The project's own cases against the simulation.
struct SuiteTests {
    static let folder = String(#filePath.split(separator: "/").dropLast(3).reduce(into: "") { $0 += "/" + $1 }) + "/Conformance"

    /// All cases, read once: they take seconds.
    static func catalogue() throws -> Catalogue { try whole.get() }

    private static let whole = Result {
        try Catalogue.load(folder, vocabulary: .declared(covers: try PublicTests.load(folder)))
    }

    /// Our own cases save and name nothing that they do not use.
    @Test func nothingIsNamedInVain() throws { #expect(try Self.catalogue().warnings.map(\.description) == []) }

    /// The tables of public test cases say of each claim what the cases say; loading them compares both.
    @Test func theTablesOfPublicTestsAreTrue() throws {
        let tests = try #require(try PublicTests.load(Self.folder))
        let files = Set(try Self.catalogue().cases.map(\.file))
        #expect(tests.suites.map(\.name) == ["gap", "gatt", "hci", "ial", "l2cap", "ll", "lmp", "rfcomm", "sdp", "sm"])
        #expect(tests.rows.allSatisfy { $0.shown != nil && !$0.revision.isEmpty && files.isSuperset(of: $0.cases) })
    }

    static func run(_ catalogue: Catalogue, shuffle: UInt64? = nil, seed: UInt64 = 1, filters: [String] = []) throws -> RunResult {
        let setup = BenchSetup(tester: .virtual, subject: .virtual, seed: seed)
        let plan = try RunPlan(catalogue: catalogue, setup: setup, filters: filters, shuffle: shuffle)
        return try Runner(plan, recorder: try Recorder(path: nil)).run()
    }

    /// `make run` has the order of the files, `make soak` a hundred others.
    @Test func everyCasePassesInAnotherOrder() throws {
        let result = try Self.run(try Self.catalogue(), shuffle: 1, seed: 5)
        let bad = Self.unexpected(result)
        #expect(bad.isEmpty, "\(bad.map { "\($0.id): \($0.message)" })")
        #expect(result.cases.count >= 60)
        #expect(result.exitCode == 0)
    }

    /// Cases that did not pass, but for those about what the reference devices do not have, which are few.
    static func unexpected(_ result: RunResult) -> [CaseResult] {
        #expect(result.count(.notApplicable) * 20 <= result.cases.count)
        return result.cases.filter { $0.verdict != .pass && $0.verdict != .notApplicable }
    }

    /// 64-bit numbers are compared completely: in every fourth pair both exceed 2^63.
    @Test func randomNumbersDifferWhateverTheSeed() throws {
        let catalogue = try Self.catalogue()
        for seed in 1...40 as ClosedRange<UInt64> {
            let result = try Self.run(catalogue, seed: seed, filters: ["hci/random-numbers"])
            #expect(result.exitCode == 0, "seed \(seed): \(result.cases.map(\.message))")
        }
    }

    /// Cases with the tag `usb` need no simulation and take at most five seconds.
    @Test func theCasesForUSBAreThoseThatAreShort() throws {
        let catalogue = try Self.catalogue()
        let setup = BenchSetup(tester: .virtual, subject: .virtual, seed: 1)
        let tagged = catalogue.cases.filter { $0.tags.contains(CaseTag.usb) }
        #expect(tagged.allSatisfy { $0.impediment(to: CaseTag.usb) == nil })
        let plan = try RunPlan(catalogue: catalogue, setup: setup, filters: tagged.map(\.id))
        let result = try Runner(plan, recorder: try Recorder(path: nil)).run()
        #expect(Self.unexpected(result).isEmpty)
        for testCase in result.cases {
            #expect(testCase.virtualMilliseconds <= 5_000, "\(testCase.id) lasts \(testCase.virtualMilliseconds) ms")
        }
        let sum = result.cases.reduce(0) { $0 + $1.virtualMilliseconds }
        #expect(sum < 480_000, "these cases last \(sum) ms; on four buses at once driving them over USB must not take longer than 120 s")
    }

    /// Every command supported by a virtual controller is sent by a case.
    @Test func everyClaimedCommandIsSent() throws {
        let coverage = CommandCoverage(try Self.catalogue())
        #expect(coverage.claimed.count >= 90)
        #expect(coverage.unsent.isEmpty, "no case sends \(coverage.unsent)")
    }

    /// The list of fields that no case checks has exactly these fields: it gets shorter with the cases, and no longer.
    @Test func everyFieldThatNoCaseChecksIsListed() throws {
        let coverage = FieldCoverage(try Self.catalogue())
        let list = try String(contentsOfFile: Self.folder + "/unread-fields.txt", encoding: .utf8)
        let (missing, stale) = coverage.differences(from: list)
        #expect(missing.isEmpty, "no case checks \(missing)")
        #expect(stale.isEmpty, "a case checks \(stale): remove the field from unread-fields.txt")
        #expect(coverage.counts.declared > 900)
    }

    /// Without one case, the fields that only it checks are unread; a condition at the tester checks nothing.
    @Test func aFieldIsReadWhereTheSubjectsPacketIsChecked() throws {
        var catalogue = try Self.catalogue()
        let complete = FieldCoverage(catalogue)
        catalogue.cases.removeAll { !$0.file.hasPrefix("phy/") }
        let alone = FieldCoverage(catalogue)
        func unread(_ coverage: FieldCoverage, _ packet: String) -> [String] {
            coverage.unread.first { $0.packet == packet }?.fields ?? []
        }
        #expect(unread(complete, "LE_PHY_Update_Complete").isEmpty && unread(alone, "LE_PHY_Update_Complete").isEmpty)
        #expect(unread(alone, "answer LE_Read_PHY").isEmpty)
        #expect(unread(complete, "answer LE_Read_Channel_Map").isEmpty)
        #expect(unread(alone, "answer LE_Read_Channel_Map") == ["Status", "Connection_Handle", "Channel_Map"])
        #expect(alone.counts.unread > complete.counts.unread)
        #expect(complete.differences(from: "# a comment\n").missing.count == complete.counts.unread)
        #expect(complete.differences(from: "LE_PHY_Update_Complete: TX_PHY").stale == ["LE_PHY_Update_Complete: TX_PHY"])
    }

    /// A sample; `Tests/Peers/test_mutants.py` tries all of them in the release build.
    @Test func mutantsAreKilledWithAGoodMessage() throws {
        let catalogue = try Self.catalogue()
        let mutants = try Mutant.load(Self.folder + "/mutants", catalogue: catalogue, vocabulary: .declared(covers: []))
        #expect(mutants.count >= 150)
        let sample = mutants.enumerated().filter { $0.offset % 16 == 0 }.map(\.element)
        let results = try MutantTrial.run(sample, catalogue: catalogue, seed: 1, isThorough: false, threads: 2)
        for result in results {
            #expect(result.grade != nil, "\(result.id) survives, noticed by \(result.noticedBy)")
            #expect(result.missed.isEmpty, "\(result.id): \(result.missed) did not kill")
        }
        #expect(results.count { $0.grade == .good } * 10 >= results.count * 9)
    }

    /// One row per message: the missing part.
    @Test(
        arguments: [
            ("Role: expected Central, got Peripheral (packet 7)", []),
            ("LE_PHY_Update_Complete must not come, but packet 9 brought it", []),
            ("X was expected within 1 s; none came; the last there was Y (packet 3)", []),
            ("2 X came in 1 s, packets 3 to 4, too few to measure span", []),
            ("expected 4, got 5", ["packet"]), ("something is wrong in packet 4", ["expected", "got"]),
        ] as [(String, [String])])
    func aGoodMessageNamesThreeThings(_ message: String, _ missing: [String]) {
        #expect(KillGrade.missing(in: message) == missing)
        var result = CaseResult(id: "a/b", title: "", verdict: .fail)
        result.message = message
        #expect(KillGrade(result, isMeant: true) == (missing.isEmpty ? .good : .incomplete))
        #expect(KillGrade(result, isMeant: false) == .misleading)
        result.overlooked = Evidence(packet: 5, side: "tester", text: "ATT_ERROR_RSP")
        #expect(KillGrade(result, isMeant: true) == .misleading)
    }

    @Test func aSubjectWithoutTheFeatureIsNotJudged() throws {
        var catalogue = try Self.catalogue()
        guard let index = catalogue.cases.firstIndex(where: { $0.id == "phy/central-asks-2m" }) else { return #expect(Bool(false)) }
        let position = catalogue.cases[index].position
        catalogue.cases[index].world.subject = [QuirkSetting(name: "lacks-le-features", value: .number(0x100), position: position)]
        let result = try Self.run(catalogue, filters: ["phy/central-asks-2m"])
        #expect(result.cases.map(\.verdict) == [.notApplicable])
        #expect(result.cases.first?.message == "needs subject.LE_2M_PHY")
        #expect(result.exitCode == 3, "no case ran")
    }

    @Test(arguments: [("phy", 10), ("phy/central-asks-2m", 1), ("gap-*", 30), ("accessory", 20), ("unchanged", 1)])
    func filters(_ filter: String, _ atLeast: Int) throws {
        #expect(try RunPlan.select(try Self.catalogue().cases, [filter]).count >= atLeast)
    }

    @Test func aTagLeavesOtherCasesOut() throws {
        let all = try Self.catalogue().cases
        let tagged = try RunPlan.select(all, ["hci"], [CaseTag.usb])
        #expect(!tagged.isEmpty && tagged.allSatisfy { $0.suite == "hci" && $0.tags == [CaseTag.usb] })
        #expect(throws: Problems.self) { try RunPlan.select(all, [], ["usbb"]) }
        do {
            _ = try RunPlan.select(all, ["usb"])
            #expect(Bool(false))
        } catch { #expect(error.description.contains("--tag usb"), "\(error)") }
    }

    @Test func anUnknownCaseIsRefusedWithASuggestion() throws {
        let cases = try Self.catalogue().cases
        #expect(throws: Problems.self) { try RunPlan.select(cases, ["phi"]) }
    }
}
