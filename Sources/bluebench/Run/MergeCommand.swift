import ArgumentParser
import BBConformance
import BBReport
import BBSessions
import BBTransport
import Foundation

/// `bluebench merge`: combines parts of a run.
struct MergeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "merge", abstract: "Merge the results of several runs: shards, or a run and its repetitions.",
        discussion: """
            RESULTS are files that `bluebench run --json` has written, or report folders, of runs that ended or were killed. A case that is in several of \
            them counts once: its PASS, FAIL or N/A replaces INCONC and ERROR. Two runs that both judged a case are refused, unless --again says that \
            later ones replace earlier ones. The exit code is that of a run with these verdicts; it is 3 instead of 0 if a shard is missing, or if a killed run \
            left cases that no other run has.
            """)

    @Argument(help: "Results: JSON files or report folders.", completion: .file()) var results: [String]
    @Flag(help: "A later result of a case replaces an earlier one.") var again = false
    @Flag(help: "Accept that shards are missing; the report still names them.") var allowMissingShards = false
    @Option(
        help: ArgumentHelp("Implementation conformance statement for --public-tests and the page.", valueName: "file"), completion: .file())
    var ics: String?
    @OptionGroup(title: "Report") var outputs: DocumentOptions
    @OptionGroup(title: "Terminal") var terminal: TerminalOptions

    func run() throws {
        var files = try outputs.prepareAlone()
        if outputs.showsPublicTests { files.publicTests = try PublicSelection(folder: CaseFolder.standard, ics: ics) }
        let parts = try results.map { try ResultsFile.read($0) }
        var merged = MergedRun(allowsMissingShards: allowMissingShards)
        for (index, part) in parts.enumerated() { try merged.add(part, at: index, isNewer: again) }
        try merged.bringCaptures(into: files.folder)
        let run = merged.run
        for result in run.cases where !terminal.quiet || result.verdict != .pass && result.verdict != .notApplicable {
            let expected = run.isExpected(result) ? run.expectation(of: result)?.reason : nil
            Console.write(ProgressLine.line(result, isColoured: terminal.colour.isOn, expected: expected) + "\n")
        }
        let failures = try files.write(run, about: merged.facts, hiding: nil)
        Console.line(ProgressLine.counts(run) + " of \(Console.count(parts.count, "run"))")
        RunClosing.tellPasses(of: run)
        if let folder = files.folder { Console.line("report  \(folder)/index.html") }
        let killed = merged.unfinished.map { "\($0): the run was killed; the cases that it had not come to are missing" }
        let missing = merged.missingShards.map { [$0] } ?? []
        for text in failures + missing + killed { Console.complain(text) }
        if !failures.isEmpty { throw ExitCode.bench }
        if run.exitCode != 0 { throw ExitCode(run.exitCode) }
    }
}
