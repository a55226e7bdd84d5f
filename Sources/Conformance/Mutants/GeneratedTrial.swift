import BBCases
import BBMisbehaviour
import BBPackets
import BBTiming

/// The result of a generated mutant.
public struct GeneratedResult: Sendable {
    public enum Outcome: Sendable {
        case killed(by: String, message: String)
        case survived
        /// The specification leaves the conduct to the device.
        case allowed(Freedom)
        /// No case makes the controller send a packet that the mutant changes.
        case noOccasion
    }

    public var mutant: GeneratedMutant
    public var outcome: Outcome
    /// The number of cases in which the mutant changes a packet.
    public var occasions: Int
}

/// Runs the cases against mutants that follow from the declarations. Each mutant meets the cases in which it changes a packet, those first
/// that check the field.
public struct GeneratedTrial: Sendable {
    /// A case with its packets without a defect.
    private struct Base: Sendable {
        var testCase: TestCase
        var isPassed: Bool
        var duration: Double
        var samples: PacketSamples
        var reading: FieldReading
    }

    private let catalogue: Catalogue
    private let seed: UInt64
    private let threads: Int
    private let bases: [Base]
    private let freedoms: [Freedom]

    /// Runs each case once without a defect.
    ///
    /// - Parameter filters: cases and suites to run; empty for all.
    public init(catalogue: Catalogue, freedoms: [Freedom], seed: UInt64, filters: [String] = [], threads: Int) throws {
        (self.catalogue, self.seed, self.threads, self.freedoms) = (catalogue, seed, threads, freedoms)
        let setup = BenchSetup(tester: .virtual, subject: .virtual, seed: seed)
        let cases = try RunPlan(catalogue: catalogue, setup: setup, filters: filters).cases
        bases = try ParallelWork.map(
            cases, threads: threads, make: {}, report: { _ in }, work: { _, testCase in try Self.base(testCase, catalogue, seed) })
    }

    private static func base(_ testCase: TestCase, _ catalogue: Catalogue, _ seed: UInt64) throws -> Base {
        var samples = PacketSamples([])
        let result = try Self.run(testCase, Fault(), catalogue, seed) { samples = PacketSamples($0) }
        var reading = FieldReading()
        reading.read(testCase, catalogue)
        return Base(
            testCase: testCase, isPassed: result.verdict == .pass, duration: result.virtualMilliseconds, samples: samples, reading: reading)
    }

    /// Runs mutants on several threads.
    ///
    /// - Parameter report: called with each result in the order of the mutants, one at a time.
    public func run(_ mutants: [GeneratedMutant], report: @escaping @Sendable (GeneratedResult) -> Void = { _ in }) throws
        -> [GeneratedResult]
    {
        try ParallelWork.map(mutants, threads: threads, make: { self }, report: report, work: { try $0.run($1) })
    }

    /// The mutants that change a packet in some case and are not allowed: a sample is drawn from these.
    public func effective(_ mutants: [GeneratedMutant]) throws -> [GeneratedMutant] {
        try mutants.filter { try freedom(of: $0) == nil && !occasions(of: $0).isEmpty }
    }

    private func freedom(of mutant: GeneratedMutant) -> Freedom? {
        freedoms.first { $0.covers(packet: mutant.packet, field: mutant.field, change: mutant.change.rawValue) }
    }

    private func run(_ mutant: GeneratedMutant) throws -> GeneratedResult {
        let occasions = try occasions(of: mutant)
        if let freedom = freedom(of: mutant) {
            return GeneratedResult(mutant: mutant, outcome: .allowed(freedom), occasions: occasions.count)
        }
        guard !occasions.isEmpty else { return GeneratedResult(mutant: mutant, outcome: .noOccasion, occasions: 0) }
        for base in occasions {
            let result = try Self.run(base.testCase, mutant.fault, catalogue, seed)
            guard result.verdict == .fail, result.failedStep?.requirement != nil else { continue }
            return GeneratedResult(
                mutant: mutant, outcome: .killed(by: base.testCase.id, message: result.message), occasions: occasions.count)
        }
        return GeneratedResult(mutant: mutant, outcome: .survived, occasions: occasions.count)
    }

    /// The cases that pass without a defect and in which the mutant changes a packet.
    private func occasions(of mutant: GeneratedMutant) throws -> [Base] {
        let rules = try mutant.fault.rewrites.compactMap { try FaultRules.controllerRewrite($0) }
        let met = bases.filter { base in
            base.isPassed && base.samples.packets[mutant.packet]?.contains { bytes in rules.contains { $0.alters(bytes) } } == true
        }
        func rank(_ base: Base) -> (Int, Double) {
            let isChecked = mutant.field.map { base.reading.isRead(mutant.packet, $0) } ?? false
            return (isChecked ? 0 : base.reading.packets.contains(mutant.packet) ? 1 : 2, base.duration)
        }
        return met.sorted { rank($0) < rank($1) }
    }

    private static func run(
        _ testCase: TestCase, _ fault: Fault, _ catalogue: Catalogue, _ seed: UInt64, onPackets: (([Observation]) -> Void)? = nil
    ) throws -> CaseResult {
        let setup = BenchSetup(tester: .virtual, subject: .virtual, seed: seed)
        let plan = RunPlan(trying: testCase, catalogue: catalogue, setup: setup)
        let runner = Runner(plan, recorder: try Recorder(path: nil), fault: fault)
        runner.onPackets = onPackets
        return try runner.run().cases.first ?? CaseResult(id: testCase.id, title: "", verdict: .error)
    }
}
