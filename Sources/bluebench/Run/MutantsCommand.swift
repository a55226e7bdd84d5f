import ArgumentParser
import BBCases
import BBConformance
import BBReport
import BBSessions
import Foundation

/// `bluebench mutants`: runs the suites against peers with known defects.
struct MutantsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "mutants", abstract: "Run the suites against peers with one defect each, and show the cases that find it.",
        discussion: "Exit code 1 if no case kills a mutant: the suites have a gap.")

    @Argument(help: "Mutants. Default: all.") var ids: [String] = []
    @Option(help: ArgumentHelp("Folder of the cases.", valueName: "folder"), completion: .directory) var cases = CaseFolder.standard
    @Option(help: ArgumentHelp("Seed of every random choice.", valueName: "n")) var seed: UInt64 = 1
    @Flag(help: "Run every case against every mutant, not only the expected killers. With --generated: all mutants, not a sample.")
    var all = false
    @Flag(help: "Mutants made from the declarations of events, answers and control PDUs. With names: these, or all of these packets.")
    var generated = false
    @Option(help: ArgumentHelp("With --generated: only these cases or suites. Repeatable.", valueName: "case")) var only: [String] = []
    @Option(help: ArgumentHelp("With --generated: exit code 1 if less than this share is killed, in percent.", valueName: "n"))
    var least = 95
    @Option(help: ArgumentHelp("Write the results as JSON.", valueName: "file"), completion: .file()) var json: String?

    private struct Document: Encodable {
        struct Row: Encodable {
            var id: String
            var title: String
            var violates: String
            var killedBy: [String]
            var noticedBy: [String]
            var missed: [String]
            var message: String
            /// Grade of the FAIL message; nil for a survivor.
            var grade: KillGrade?

            enum CodingKeys: String, CodingKey {
                case id, title, violates, message, grade
                case killedBy = "killed_by"
                case noticedBy = "noticed_by"
                case missed = "expected_but_missed"
            }
        }
        var mutants: [Row]
    }

    func validate() throws {
        if !generated, !only.isEmpty { throw ValidationError("--only needs --generated") }
        guard (0...100).contains(least) else { throw ValidationError("--least takes a percentage from 0 to 100") }
    }

    func run() throws {
        guard !generated else { return try GeneratedRun(command: self).run() }
        let (signals, done) = (SignalHandler(), TrialResults<MutantResult>())
        let output = try json.map { try OutputFile($0) }
        let catalogue = try CaseFolder.load(cases)
        var mutants = try CaseFolder.mutants(cases, catalogue)
        for id in ids where !mutants.contains(where: { $0.id == id }) {
            throw CommandFailure(.usage, "there is no mutant '\(id)'" + Suggestion.text(for: id, among: mutants.map(\.id)))
        }
        if !ids.isEmpty { mutants = mutants.filter { ids.contains($0.id) } }
        guard !mutants.isEmpty else { throw CommandFailure(.bench, "there are no mutants in \(cases)/mutants") }
        let write: @Sendable ([MutantResult]) throws -> Void = {
            try output?.write(ResultsJSON.encode(Document(mutants: $0.map(Self.row))))
        }
        done.onStop(signals, of: mutants.count, write: write)
        let results = try MutantTrial.run(
            mutants, catalogue: catalogue, seed: seed, isThorough: all, threads: ProcessInfo.processInfo.activeProcessorCount
        ) { result in
            Self.show(result)
            done.add(result)
        }
        try done.finish(write)
        let survivors = results.count { $0.killedBy.isEmpty }
        let good = results.count { $0.grade == .good }
        Console.line("\(results.count - survivors) of \(results.count) mutants killed, \(good) with a good message")
        if survivors > 0 { throw ExitCode.fail }
    }

    private static func show(_ result: MutantResult) {
        let verdict = result.grade.map { "killed, message \($0.rawValue)" } ?? "SURVIVED"
        let killers = result.killedBy.isEmpty ? "" : " by " + result.killedBy.joined(separator: ", ")
        Console.line("\(verdict)  \(result.id)\(killers)")
        if !result.missed.isEmpty { Console.line("          expected killers that did not kill: \(result.missed.joined(separator: ", "))") }
        if !result.noticedBy.isEmpty, result.killedBy.isEmpty {
            Console.line("          noticed, without a step that states it, by \(result.noticedBy.joined(separator: ", "))")
        }
        if !result.message.isEmpty { Console.line("          \(result.message)") }
    }

    private static func row(_ result: MutantResult) -> Document.Row {
        Document.Row(
            id: result.id, title: result.title, violates: result.violates, killedBy: result.killedBy, noticedBy: result.noticedBy,
            missed: result.missed, message: result.message, grade: result.grade)
    }
}
