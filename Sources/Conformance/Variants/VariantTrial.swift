import Cases
import Packets

/// What the cases made of one variant, with one seed.
public struct VariantResult: Sendable {
    public var id: String
    public var title: String
    public var seed: UInt64
    /// Every case's outcome, in the order of the catalogue.
    public var cases: [CaseResult]

    public func count(_ verdict: Verdict) -> Int { cases.count { $0.verdict == verdict } }

    /// Verdicts that no conforming device deserves, and failures of the bench.
    public var faults: [CaseResult] { cases.filter { $0.verdict == .fail || $0.verdict == .error } }

    /// Cases that could say nothing.
    public var inconclusive: [CaseResult] { cases.filter { $0.verdict == .inconclusive } }
}

/// Runs every case against variants.
public struct VariantTrial: Sendable {
    private let catalogue: Catalogue
    private let filters: [String]

    /// - Parameter filters: cases and suites to run; all when empty.
    public init(catalogue: Catalogue, filters: [String] = []) {
        self.catalogue = catalogue
        self.filters = filters
    }

    /// Tries each variant with each seed, on several threads.
    ///
    /// - Parameter report: told of each result in order, one at a time.
    public func run(
        _ variants: [Variant], seeds: [UInt64], threads: Int, report: @escaping @Sendable (VariantResult) -> Void
    ) throws -> [VariantResult] {
        let trials = variants.flatMap { variant in seeds.map { (variant: variant, seed: $0) } }
        return try ParallelWork.map(
            trials, threads: threads, make: { self }, report: report, work: { try $0.run($1.variant, seed: $1.seed) })
    }

    /// Tries one variant.
    public func run(_ variant: Variant, seed: UInt64) throws -> VariantResult {
        let setup = BenchSetup(tester: .virtual, subject: .virtual, seed: seed)
        var plan = try RunPlan(catalogue: catalogue, setup: setup, filters: filters)
        if !variant.only.isEmpty { plan.cases.removeAll { testCase in !variant.only.contains { CaseFilter.matches(testCase.id, $0) } } }
        guard !plan.cases.isEmpty else { return VariantResult(id: variant.id, title: variant.title, seed: seed, cases: []) }
        let runner = Runner(plan, recorder: try Recorder(path: nil), surroundings: variant.world)
        return VariantResult(id: variant.id, title: variant.title, seed: seed, cases: try runner.run().cases)
    }
}
