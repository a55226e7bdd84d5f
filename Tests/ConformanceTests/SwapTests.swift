import BBPackets
import BBTiming
import Testing

@testable import BBCases
@testable import BBConformance

/// A FAIL is repeated with tester and subject exchanged.
struct SwapTests {
    /// A mutant, a case that it fails, and the conclusion about the FAIL.
    static let rows: [(String, String, SwapOutcome.Finding?)] = [
        ("random-number-constant", "hci/random-numbers", .wentWithTheDongle),
        ("random-number-narrow", "hci/random-numbers", .wentWithTheDongle),
        ("reset-keeps-advertising", "hci/reset-while-advertising", .wentWithTheDongle),
        ("random-number-constant", "hci/buffer-size", nil),
    ]

    @Test(arguments: rows) func saysWhetherItWentWithTheDongle(_ mutant: String, _ id: String, _ finding: SwapOutcome.Finding?) throws {
        let catalogue = try SuiteTests.catalogue()
        let mutants = try Mutant.load(SuiteTests.folder + "/mutants", catalogue: catalogue, vocabulary: .declared(covers: []))
        let fault = try #require(mutants.first { $0.id == mutant }).fault
        var plan = try RunPlan(
            catalogue: catalogue, setup: BenchSetup(tester: .virtual, subject: .virtual, seed: 1), filters: [id])
        plan.swapsFailures = true
        let result = try Runner(plan, recorder: try Recorder(path: nil), fault: fault).run()
        let outcome = try #require(result.cases.first)
        #expect(outcome.verdict == (finding == nil ? .pass : .fail), "\(outcome.message)")
        #expect(outcome.swap?.finding == finding)
        #expect((outcome.swap?.line.contains("went with the dongle") ?? false) == (finding != nil))
    }

    @Test(arguments: [
        (Verdict.pass, SwapOutcome.Finding.wentWithTheDongle), (.fail, .stayed), (.inconclusive, .unknown), (.notApplicable, .unknown),
    ])
    func readsTheSecondVerdict(_ verdict: Verdict, _ finding: SwapOutcome.Finding) {
        #expect(SwapOutcome(CaseResult(id: "a/b", title: "", verdict: verdict)).finding == finding)
    }
}
