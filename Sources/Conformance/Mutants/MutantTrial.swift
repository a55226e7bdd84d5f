import BBCases
import BBPackets
import BBTiming

/// The result of a mutant.
public struct MutantResult: Sendable {
    public var id: String
    public var title: String
    /// The violated section of the specification.
    public var violates: String
    /// The cases that failed at the step that states the violated requirement, and that pass without the mutant with the same seed.
    public var killedBy: [String] = []
    /// The cases that failed without stating the requirement; they do not count as kills.
    public var noticedBy: [String] = []
    /// The message of the first killer and its grade; nil for a survivor.
    public var message = ""
    public var grade: KillGrade?
    /// The expected killers that did not fail.
    public var missed: [String] = []

    init(_ mutant: Mutant) {
        id = mutant.id
        title = mutant.title
        violates = mutant.violates
    }
}

/// Runs the suites against mutants.
public struct MutantTrial {
    private let catalogue: Catalogue
    private let seed: UInt64
    /// Indices of the cases of each file.
    private let places: [String: [Int]]
    private var good: [String: Verdict] = [:]

    public init(catalogue: Catalogue, seed: UInt64) {
        self.catalogue = catalogue
        self.seed = seed
        places = Dictionary(grouping: catalogue.cases.indices) { catalogue.cases[$0].file }
    }

    /// Runs many mutants on several threads, each with its own run loops.
    ///
    /// - Parameters:
    ///   - isThorough: true to run every case that may fail, not only the expected killers.
    ///   - report: called with each result in the order of the mutants, one at a time.
    public static func run(
        _ mutants: [Mutant], catalogue: Catalogue, seed: UInt64, isThorough: Bool, threads: Int,
        report: @escaping @Sendable (MutantResult) -> Void = { _ in }
    ) throws -> [MutantResult] {
        try ParallelWork.map(
            mutants, threads: threads, make: { MutantTrial(catalogue: catalogue, seed: seed) }, report: report,
            work: { try $0.run($1, isThorough: isThorough) })
    }

    /// Runs one mutant.
    ///
    /// - Parameter isThorough: true to run every case that may fail, not only the expected killers.
    public mutating func run(_ mutant: Mutant, isThorough: Bool) throws -> MutantResult {
        var result = MutantResult(mutant)
        let expected = Set(mutant.killers.flatMap { cases(named: $0) })
        try judge(expected.sorted(), mutant, &result)
        result.missed = mutant.killers.filter { killer in !result.killedBy.contains { CaseFilter.matches($0, killer) } }
        if isThorough || result.killedBy.isEmpty {
            let others = catalogue.cases.indices.filter { !expected.contains($0) && isRelevant(catalogue.cases[$0], to: mutant) }
            try judge(others, mutant, &result)
        }
        return result
    }

    /// The indices of a killer's cases: all rounds of a file, or those that the killer names.
    private func cases(named killer: String) -> [Int] {
        let all = places[String(killer.prefix { $0 != "[" })] ?? []
        return killer.contains("[") ? all.filter { CaseFilter.matches(catalogue.cases[$0].id, killer) } : all
    }

    private func isRelevant(_ testCase: TestCase, to mutant: Mutant) -> Bool {
        mutant.end == .controller || testCase.subject != .controller
    }

    private mutating func judge(_ cases: [Int], _ mutant: Mutant, _ result: inout MutantResult) throws {
        for testCase in cases.map({ catalogue.cases[$0] }) {
            let outcome = try run(testCase, mutant.fault)
            guard outcome.verdict == .fail else {
                if outcome.verdict == .inconclusive || outcome.verdict == .error { result.noticedBy.append(testCase.id) }
                continue
            }
            guard outcome.failedStep?.requirement != nil, try goodVerdict(of: testCase) == .pass else {
                result.noticedBy.append(testCase.id)
                continue
            }
            if result.killedBy.isEmpty {
                result.message = outcome.message
                result.grade = KillGrade(outcome, isMeant: mutant.killers.contains { CaseFilter.matches(testCase.id, $0) })
            }
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
        let plan = RunPlan(trying: testCase, catalogue: catalogue, setup: setup)
        let runner = Runner(plan, recorder: try Recorder(path: nil), fault: fault)
        return try runner.run().cases.first ?? CaseResult(id: testCase.id, title: "", verdict: .error)
    }
}
