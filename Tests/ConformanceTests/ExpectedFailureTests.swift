import Testing

@testable import BBCases
@testable import BBConformance

/// Failures that the user expects.
struct ExpectedFailureTests {
    private static func plan(_ lines: [String]) throws -> RunPlan {
        let catalogue = try SuiteTests.catalogue()
        var plan = try RunPlan(catalogue: catalogue, setup: BenchSetup(tester: .virtual, subject: .virtual, seed: 1), filters: ["phy"])
        let entries = lines.enumerated().map {
            ExpectedFailureList.Entry(id: $1, reason: "known", position: Position(file: "e.txt", line: $0 + 1, column: 1))
        }
        try plan.expect(entries, ["MY/1"]) { $0 == "mine/case" }
        return plan
    }

    /// An id, and the number of its cases; a case of a folder that was not read stands for itself.
    @Test(arguments: [("phy/read", 1), ("mine/case", 1), ("MY/1", 1), ("LL/CON/PER/BV-42-C", 3)])
    func anIDStandsForItsCases(_ id: String, _ least: Int) throws {
        let expected = try #require(try Self.plan([id]).expectedFailures.first)
        #expect(expected.id == id && expected.reason == "known" && expected.cases.count >= least)
    }

    @Test(arguments: [
        ("phy/reed", "e.txt:1:1: 'phy/reed' is neither a case nor a public test case; did you mean phy/read?"),
        ("phy/read[x=1]", "'phy/read[x=1]' is neither a case nor a public test case"), ("XY/1/2", "'XY/1/2' is neither"),
    ])
    func anUnknownIDIsRefused(_ id: String, _ expected: String) {
        let problems = #expect(throws: Problems.self) { try Self.plan([id]) }
        #expect(problems?.description.contains(expected) == true, "\(String(describing: problems))")
    }

    /// Verdicts of `a/1`, `a/2` and `a/3`, the cases of an expectation, the exit code, and the number of expectations that passed.
    @Test(
        arguments: [
            ([.fail, .pass, .pass], ["a/1"], 0, 0), ([.fail, .fail, .pass], ["a/1"], 1, 0), ([.pass, .pass, .pass], ["a/1"], 1, 1),
            ([.fail, .pass, .pass], ["a/1", "a/2"], 0, 0), ([.pass, .notApplicable, .pass], ["a/1", "a/2"], 1, 1),
            ([.notApplicable, .notApplicable, .pass], ["a/1", "a/2"], 0, 0), ([.inconclusive, .pass, .pass], ["a/1"], 3, 0),
            ([.pass, .pass, .pass], ["a/1", "a/9"], 0, 0), ([.fail, .fail, .fail], ["a/1", "a/2", "a/3"], 0, 0),
            ([.inconclusive, .pass, .pass], ["a/1", "a/2"], 3, 0), ([.error, .pass, .fail], ["a/3"], 3, 0),
        ] as [([Verdict], [String], Int32, Int)])
    func aRunEndsByWhatIsNotExpected(_ verdicts: [Verdict], _ cases: [String], _ code: Int32, _ passes: Int) {
        var run = RunResult(seed: 1, tester: "virtual", subject: "virtual")
        run.cases = verdicts.enumerated().map { CaseResult(id: "a/\($0 + 1)", title: "", verdict: $1) }
        run.expectedFailures = [ExpectedFailure(id: "a", reason: "known", cases: cases)]
        #expect(run.exitCode == code && run.unexpectedPasses.count == passes)
    }
}
