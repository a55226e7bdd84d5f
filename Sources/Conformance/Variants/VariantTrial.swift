import BBCases
import BBPackets
import BBTiming

/// The results of a variant with one seed.
public struct VariantResult: Sendable {
    public var id: String
    public var title: String
    public var seed: UInt64
    /// The result of every case, in the order of the catalogue.
    public var cases: [CaseResult]

    public func count(_ verdict: Verdict) -> Int { cases.count { $0.verdict == verdict } }

    /// The cases with a verdict that a conforming device must not have, and failures of the bench.
    public var faults: [CaseResult] { cases.filter { $0.verdict == .fail || $0.verdict == .error } }

    /// The inconclusive cases.
    public var inconclusive: [CaseResult] { cases.filter { $0.verdict == .inconclusive } }
}

/// Runs every case with variants.
public struct VariantTrial: Sendable {
    private let catalogue: Catalogue
    private let filters: [String]

    /// - Parameter filters: cases and suites to run; empty for all.
    public init(catalogue: Catalogue, filters: [String] = []) {
        self.catalogue = catalogue
        self.filters = filters
    }

    /// Runs each variant with each seed on several threads.
    ///
    /// - Parameter report: called with each result in order, one at a time.
    public func run(
        _ variants: [Variant], seeds: [UInt64], threads: Int, report: @escaping @Sendable (VariantResult) -> Void
    ) throws -> [VariantResult] {
        let trials = variants.flatMap { variant in seeds.map { (variant: variant, seed: $0) } }
        let plan = try makePlan()
        return try ParallelWork.map(
            trials, threads: threads, make: { plan }, report: report, work: { try Self.run($1.variant, seed: $1.seed, $0) })
    }

    /// Runs one variant.
    public func run(_ variant: Variant, seed: UInt64) throws -> VariantResult { try Self.run(variant, seed: seed, makePlan()) }

    /// Returns the plan of all trials.
    private func makePlan() throws -> RunPlan {
        try RunPlan(catalogue: catalogue, setup: BenchSetup(tester: .virtual, subject: .virtual, seed: 1), filters: filters)
    }

    private static func run(_ variant: Variant, seed: UInt64, _ common: RunPlan) throws -> VariantResult {
        var plan = common
        plan.setup.seed = seed
        if !variant.only.isEmpty { plan.cases.removeAll { testCase in !variant.only.contains { CaseFilter.matches(testCase.id, $0) } } }
        guard !plan.cases.isEmpty else { return VariantResult(id: variant.id, title: variant.title, seed: seed, cases: []) }
        let runner = Runner(plan, recorder: try Recorder(path: nil), surroundings: variant.world)
        return VariantResult(id: variant.id, title: variant.title, seed: seed, cases: try runner.run().cases.map(withoutCourse))
    }

    /// A result without the course of the case, which takes most of its memory.
    private static func withoutCourse(_ result: CaseResult) -> CaseResult {
        var result = result
        (result.steps, result.attempts, result.commands, result.trace, result.log) = ([], [], [], nil, nil)
        if result.verdict == .pass || result.verdict == .notApplicable { result.evidence = [] }
        return result
    }
}
