import ArgumentParser
import BBCases
import BBConformance
import BBReport
import BBSessions
import BBTiming
import Foundation

/// `bluebench mutants --generated`.
struct GeneratedRun {
    let command: MutantsCommand
    /// The size of a sample.
    private static let sample = 60

    private struct Document: Encodable {
        struct Row: Encodable {
            var id: String
            var layer: String
            var outcome: String
            var occasions: Int
            var killedBy: String?
            var message: String?
            var allowedBy: String?

            enum CodingKeys: String, CodingKey {
                case id, layer, outcome, occasions, message
                case killedBy = "killed_by"
                case allowedBy = "allowed_by"
            }
        }
        var mutants: [Row]
    }

    func run() throws {
        let (signals, done) = (SignalHandler(), TrialResults<GeneratedResult>())
        let output = try command.json.map { try OutputFile($0) }
        let catalogue = try CaseFolder.load(command.cases)
        let trial = try GeneratedTrial(
            catalogue: catalogue, freedoms: try CaseFolder.freedoms(command.cases), seed: command.seed, filters: command.only,
            threads: ProcessInfo.processInfo.activeProcessorCount)
        let mutants = try chosen(trial)
        let write: @Sendable ([GeneratedResult]) throws -> Void = {
            try output?.write(ResultsJSON.encode(Document(mutants: $0.map(Self.row))))
        }
        done.onStop(signals, of: mutants.count, write: write)
        let results = try trial.run(mutants) { result in
            Self.show(result)
            done.add(result)
        }
        try done.finish(write)
        try conclude(results)
    }

    /// The named mutants, and those of the named packets; without names all, or a sample of those that change something and are not allowed.
    private func chosen(_ trial: GeneratedTrial) throws -> [GeneratedMutant] {
        let all = GeneratedMutant.all
        let packets = Set(all.map(\.packet))
        let names = packets.union(all.map(\.id))
        for name in command.ids where !names.contains(name) {
            throw CommandFailure(.usage, "unknown packet or generated mutant '\(name)'" + Suggestion.text(for: name, among: names))
        }
        if !command.ids.isEmpty { return all.filter { command.ids.contains($0.packet) || command.ids.contains($0.id) } }
        guard !command.all else { return all }
        var random = RandomSource(seed: command.seed)
        let effective = try trial.effective(all)
        let drawn = Set(effective.indices.shuffled(using: &random).prefix(Self.sample))
        return effective.indices.filter { drawn.contains($0) }.map { effective[$0] }
    }

    private func conclude(_ results: [GeneratedResult]) throws {
        var layers: [String] = []
        for result in results where !layers.contains(result.mutant.layer) { layers.append(result.mutant.layer) }
        var total = Tally()
        for layer in layers {
            let tally = Tally(results.filter { $0.mutant.layer == layer })
            Console.line("\(layer): \(tally.text)")
            total += tally
        }
        Console.line("together: \(total.text)")
        guard total.judged > 0 else {
            throw CommandFailure(
                .bench, "no mutant can be generated: in the selected cases the DUT sends no packet that a mutant could change")
        }
        if total.killed * 100 < total.judged * command.least { throw ExitCode.fail }
    }

    private struct Tally {
        var killed = 0
        var judged = 0
        var allowed = 0
        var idle = 0

        init(_ results: [GeneratedResult] = []) {
            for result in results {
                switch result.outcome {
                case .killed: (killed, judged) = (killed + 1, judged + 1)
                case .survived: judged += 1
                case .allowed: allowed += 1
                case .noOccasion: idle += 1
                }
            }
        }

        var text: String {
            let share = judged > 0 ? " (\(killed * 1000 / judged / 10).\(killed * 1000 / judged % 10) %)" : ""
            return "\(killed) of \(judged) killed\(share), \(allowed) allowed, \(idle) without an occasion"
        }

        static func += (a: inout Tally, b: Tally) {
            (a.killed, a.judged, a.allowed, a.idle) = (a.killed + b.killed, a.judged + b.judged, a.allowed + b.allowed, a.idle + b.idle)
        }
    }

    private static func show(_ result: GeneratedResult) {
        switch result.outcome {
        case .killed(let id, _): Console.line("killed    \(result.mutant.id) by \(id)")
        case .survived: Console.line("SURVIVED  \(result.mutant.id) in \(Console.count(result.occasions, "case"))")
        case .allowed(let freedom): Console.line("allowed   \(result.mutant.id): \(freedom.text) [\(freedom.allowedBy)]")
        case .noOccasion: break
        }
    }

    private static func row(_ result: GeneratedResult) -> Document.Row {
        var row = Document.Row(id: result.mutant.id, layer: result.mutant.layer, outcome: "", occasions: result.occasions)
        switch result.outcome {
        case .killed(let id, let message): (row.outcome, row.killedBy, row.message) = ("killed", id, message)
        case .survived: row.outcome = "survived"
        case .allowed(let freedom): (row.outcome, row.allowedBy) = ("allowed", freedom.allowedBy)
        case .noOccasion: row.outcome = "no occasion"
        }
        return row
    }
}

extension CaseFolder {
    /// The freedoms that the suites' folder declares for generated mutants.
    static func freedoms(_ path: String) throws -> [Freedom] {
        do { return try Freedom.load(path, changes: GeneratedMutant.Change.names) } catch { throw CommandFailure(error) }
    }
}
