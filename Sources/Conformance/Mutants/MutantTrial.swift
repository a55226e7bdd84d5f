import Packets

/// What came of one mutant.
public struct MutantResult: Sendable {
    public var id: String
    public var title: String
    /// Cases that failed at the step that states what the mutant breaks, and that a good peer passes with the same seed.
    public var killedBy: [String]
    /// Cases that noticed something without stating it: they kill nothing.
    public var noticedBy: [String]
    /// What the first killer said.
    public var message: String
    /// Expected killers that did not kill.
    public var missed: [String]
}

/// Runs the suites against mutants.
public struct MutantTrial {
    private let catalogue: Catalogue
    private let seed: UInt64
    private let recorder: Recorder
    private var good: [String: Verdict] = [:]

    public init(catalogue: Catalogue, seed: UInt64) throws {
        self.catalogue = catalogue
        self.seed = seed
        recorder = try Recorder(path: nil)
    }

    /// Tries one mutant.
    ///
    /// - Parameter isThorough: run every case that could notice, not only the expected killers.
    public mutating func run(_ mutant: Mutant, isThorough: Bool) throws -> MutantResult {
        var result = MutantResult(id: mutant.id, title: mutant.title, killedBy: [], noticedBy: [], message: "", missed: [])
        let expected = catalogue.cases.filter { mutant.killers.contains($0.file) }
        let others = catalogue.cases.filter { !mutant.killers.contains($0.file) && Self.isRelevant($0, to: mutant) }
        try judge(expected, mutant, &result)
        result.missed = mutant.killers.filter { killer in !result.killedBy.contains { $0 == killer || $0.hasPrefix(killer + "[") } }
        if isThorough || result.killedBy.isEmpty { try judge(others, mutant, &result) }
        return result
    }

    private static func isRelevant(_ testCase: TestCase, to mutant: Mutant) -> Bool {
        mutant.end == .controller || testCase.subject == .accessory
    }

    private mutating func judge(_ cases: [TestCase], _ mutant: Mutant, _ result: inout MutantResult) throws {
        for testCase in cases {
            let outcome = try run(testCase, mutant.fault)
            guard outcome.verdict == .fail else {
                if outcome.verdict == .inconclusive || outcome.verdict == .error { result.noticedBy.append(testCase.id) }
                continue
            }
            guard outcome.failedStep?.requirement != nil, try goodVerdict(of: testCase) == .pass else {
                result.noticedBy.append(testCase.id)
                continue
            }
            if result.killedBy.isEmpty { result.message = outcome.message }
            result.killedBy.append(testCase.id)
        }
    }

    private mutating func goodVerdict(of testCase: TestCase) throws -> Verdict {
        if let known = good[testCase.id] { return known }
        let verdict = try run(testCase, Fault()).verdict
        good[testCase.id] = verdict
        return verdict
    }

    private func run(_ testCase: TestCase, _ fault: Fault) throws -> CaseResult {
        let setup = BenchSetup(tester: .virtual, subject: .virtual, seed: seed)
        let plan = try RunPlan(catalogue: catalogue, setup: setup, filters: [testCase.id])
        let runner = Runner(plan, recorder: recorder, fault: fault)
        return try runner.run().cases.first ?? CaseResult(id: testCase.id, title: "", verdict: .error)
    }
}
