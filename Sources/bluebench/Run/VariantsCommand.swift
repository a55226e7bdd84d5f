import ArgumentParser
import BBCases
import BBConformance
import BBReport
import BBSessions
import Foundation

/// `bluebench variants`: runs the suites with conforming devices that differ from the default.
struct VariantsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "variants", abstract: "Run every case against conforming devices and conditions that differ from ours.",
        discussion: "Exit code 1 if a case FAILs against one of them: the case is wrong.")

    @Argument(help: "Variants. Default: all.") var ids: [String] = []
    @Option(help: ArgumentHelp("Folder of the cases.", valueName: "folder")) var cases = CaseFolder.standard
    @Option(help: ArgumentHelp("Only this case or suite. Repeatable.", valueName: "case")) var only: [String] = []
    @Option(help: ArgumentHelp("First seed.", valueName: "n"), transform: Arguments.seed) var seed: UInt64 = 1
    @Option(help: ArgumentHelp("Number of consecutive seeds.", valueName: "n"), transform: Arguments.whole(1...10_000))
    var seeds = 1
    @Flag(help: "List INCONC verdicts with their reasons.") var inconclusive = false
    @Option(help: ArgumentHelp("Write the results as JSON.", valueName: "file")) var json: String?

    func run() throws {
        let (signals, done) = (SignalHandler(), TrialResults<VariantResult>())
        let output = try json.map { try OutputFile($0) }
        let variants = try selected()
        let trial = try VariantTrial(catalogue: CaseFolder.load(cases), filters: only)
        let count = variants.count * seeds
        let isTerminal = Console.isTerminal
        let write: @Sendable ([VariantResult]) throws -> Void = { try output?.write(ResultsJSON.encode(VariantsDocument(variants, $0))) }
        done.onStop(signals, of: count, write: write)
        let results = try trial.run(
            variants, seeds: (0..<seeds).map { seed &+ UInt64($0) }, threads: ProcessInfo.processInfo.activeProcessorCount
        ) { result in
            let number = done.add(result)
            if isTerminal { Console.write("\r\u{1B}[K\(number)/\(count)  \(result.id), seed \(result.seed)") }
        }
        if isTerminal { Console.write("\r\u{1B}[K") }
        for variant in variants { show(variant, results.filter { $0.id == variant.id }) }
        try done.finish(write)
        try conclude(results, variants.count)
    }

    private func selected() throws -> [Variant] {
        let all = try CaseFolder.variants(cases)
        for id in ids where !all.contains(where: { $0.id == id }) {
            throw CommandFailure(.usage, "there is no variant '\(id)'" + Suggestion.text(for: id, among: all.map(\.id)))
        }
        let variants = ids.isEmpty ? all : all.filter { ids.contains($0.id) }
        guard !variants.isEmpty else { throw CommandFailure(.bench, "there are no variants in \(cases)/variants") }
        return variants
    }

    // MARK: Output

    private func show(_ variant: Variant, _ results: [VariantResult]) {
        let faults = results.flatMap { result in result.faults.map { (result.seed, $0) } }
        let counts = [Verdict.pass, .notApplicable, .inconclusive, .fail, .error].compactMap { verdict -> String? in
            let count = results.reduce(0) { $0 + $1.count(verdict) }
            return count == 0 && verdict != .pass ? nil : "\(count) \(verdict.rawValue)"
        }
        let name = variant.id.padding(toLength: max(variant.id.count, 32), withPad: " ", startingAt: 0)
        Console.line("\(faults.isEmpty ? "ok   " : "FAULT")  \(name)  \(counts.joined(separator: ", "))")
        for (seed, fault) in faults { Console.line("         seed \(seed): \(ProgressLine.line(fault))") }
        guard inconclusive else { return }
        for result in results {
            for outcome in result.inconclusive { Console.line("         seed \(result.seed): \(ProgressLine.line(outcome))") }
        }
    }

    private func conclude(_ results: [VariantResult], _ variants: Int) throws {
        let verdicts = results.reduce(0) { $0 + $1.cases.count }
        let passed = results.reduce(0) { $0 + $1.count(.pass) }
        let inconclusive = results.reduce(0) { $0 + $1.count(.inconclusive) }
        let share = verdicts == 0 ? 0 : passed * 100 / verdicts
        let faults = results.flatMap(\.faults)
        Console.line(
            "\(variants) variants, \(verdicts) verdicts: \(share) % PASS, \(inconclusive) INCONC, \(faults.count) wrong"
        )
        if faults.contains(where: { $0.verdict == .fail }) { throw ExitCode.fail }
        if !faults.isEmpty || passed == 0 { throw CommandFailure(.bench, "a case could not run to its end") }
    }
}

/// The output of `bluebench variants --json`.
private struct VariantsDocument: Encodable {
    struct Row: Encodable {
        var id: String
        var title: String
        var allowedBy: String
        var seed: UInt64
        var verdicts: [String: Int]
        var faults: [Outcome]
        var inconclusive: [Outcome]

        enum CodingKeys: String, CodingKey {
            case id, title, seed, verdicts, faults, inconclusive
            case allowedBy = "allowed_by"
        }
    }

    struct Outcome: Encodable {
        var id: String
        var verdict: String
        var message: String

        init(_ result: CaseResult) {
            id = result.id
            verdict = result.verdict.rawValue
            message = result.message
        }
    }

    var variants: [Row]

    init(_ variants: [Variant], _ results: [VariantResult]) {
        self.variants = results.map { result in
            let verdicts = Verdict.allCases.map { ($0.rawValue, result.count($0)) }.filter { $0.1 > 0 }
            return Row(
                id: result.id, title: result.title, allowedBy: variants.first { $0.id == result.id }?.allowedBy ?? "", seed: result.seed,
                verdicts: Dictionary(uniqueKeysWithValues: verdicts), faults: result.faults.map { Outcome($0) },
                inconclusive: result.inconclusive.map { Outcome($0) })
        }
    }
}
