import BBPackets
import Testing

@testable import BBCases
@testable import BBConformance

/// A command that is claimed and refused in each case makes the cases not applicable; the run names the contradiction.
struct CommandConductTests {
    struct Row: CustomTestStringConvertible, Sendable {
        var mutant: String?
        var ids: [String]
        /// The beginning of the only sentence; nil for none.
        var sentence: String?
        var testDescription: String { "\(mutant ?? "sound"), \(ids)" }
    }

    static let rows: [Row] = [
        Row(
            mutant: "enhanced-voice-refused", ids: ["bredr-lmp/enhanced-voice", "bredr-lmp/sco-without-retransmission-enhanced"],
            sentence: "Enhanced_Setup_Synchronous_Connection is claimed in Supported_Commands, and refused each of 5 times: "),
        Row(
            mutant: "enhanced-voice-refused", ids: ["bredr-lmp/enhanced-voice"],
            sentence: "Enhanced_Setup_Synchronous_Connection is claimed in Supported_Commands, and refused the only time: "),
        Row(ids: ["bredr-lmp/enhanced-voice", "bredr-lmp/sco-without-retransmission-enhanced"]),
        // The bench's own controller claims the command and has none of the features.
        Row(
            ids: ["hci/host-feature-of-link"],
            sentence: "LE_Set_Host_Feature is claimed in Supported_Commands, and refused each of 8 times: "),
    ]

    private static let mutants = Result {
        try Mutant.load(SuiteTests.folder + "/mutants", catalogue: SuiteTests.catalogue(), vocabulary: .declared(covers: []))
    }

    @Test(arguments: rows) func theRunNamesWhatIsClaimedAndRefused(_ row: Row) throws {
        let catalogue = try SuiteTests.catalogue()
        let plan = try RunPlan(
            catalogue: catalogue, setup: BenchSetup(tester: .virtual, subject: .virtual, seed: 1), filters: row.ids)
        let fault = try row.mutant.map { id in try #require(try Self.mutants.get().first { $0.id == id }).fault } ?? Fault()
        let result = try Runner(plan, recorder: try Recorder(path: nil), fault: fault).run()
        let sentences = try #require(result.scorecard).contradictions
        #expect(result.cases.contains { $0.verdict == .notApplicable } || row.mutant == nil)
        #expect(sentences.count == (row.sentence == nil ? 0 : 1), "\(sentences)")
        if let begin = row.sentence { #expect(sentences.first?.hasPrefix(begin) == true, "\(sentences)") }
    }
}
