import ArgumentParser
import Conformance
import Foundation
import Report
import Transport

/// `bluebench merge`: combines parts of a run.
struct MergeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "merge", abstract: "Put the results of several runs together: of shards, or of a run and what was tried again.",
        discussion: """
            RESULTS are files that `bluebench run --json` has written, or report folders, of runs that ended or were killed. A case that is in several of \
            them counts once: its PASS, FAIL or N/A replaces INCONC and ERROR. Two runs that both judged a case are refused, unless --again says that \
            later ones replace earlier ones. The exit code is that of a run with these verdicts, and 3 instead of 0 where a run was killed that no other did in full.
            """)

    @Argument(help: "Results of runs.", completion: .file()) var results: [String]
    @Flag(help: "A later result of a case replaces an earlier one.") var again = false
    @Flag(help: "Print only cases that need attention, and the last lines.") var quiet = false
    @OptionGroup var colour: ColourOption
    @OptionGroup var outputs: MergeOutputs

    func run() throws {
        let files = try outputs.prepare()
        let parts = try results.map { try ResultsFile.read($0) }
        var merged = MergedRun()
        for (index, part) in parts.enumerated() { try merged.add(part, at: index, isNewer: again) }
        try merged.bringCaptures(into: files.folder)
        let run = merged.run
        for result in run.cases where !quiet || result.verdict != .pass && result.verdict != .notApplicable {
            Console.write(ProgressLine.line(result, isColoured: colour.isOn) + "\n")
        }
        let failures = try files.write(run, about: merged.facts, hiding: nil)
        Console.line(ProgressLine.counts(run) + " of \(parts.count) run\(parts.count == 1 ? "" : "s")")
        if let folder = files.folder { Console.line("report  \(folder)/index.html") }
        let killed = merged.unfinished.map { "\($0): the run was killed; the cases that it had not come to are missing" }
        for text in failures + killed { Console.complain(text) }
        if !failures.isEmpty { throw ExitCode.bench }
        if run.exitCode != 0 { throw ExitCode(run.exitCode) }
        if !killed.isEmpty { throw ExitCode.bench }
    }
}

/// The options for merged results.
struct MergeOutputs: ParsableArguments {
    @Option(help: ArgumentHelp("Write results as JSON.", valueName: "file"), completion: .file()) var json: String?
    @Option(help: ArgumentHelp("Write results as JUnit XML.", valueName: "file"), completion: .file()) var junit: String?
    @Option(help: ArgumentHelp("Write one HTML page.", valueName: "file"), completion: .file()) var html: String?
    @Option(help: ArgumentHelp("Write a summary in Markdown; - for the standard output.", valueName: "file"), completion: .file())
    var markdown: String?
    @Option(help: ArgumentHelp("Write all of it into a folder, with the captures.", valueName: "folder"), completion: .directory)
    var report: String?
    @Option(
        help: ArgumentHelp("Results of an earlier run: the page says what differs of a case since it last passed.", valueName: "results"),
        completion: .file())
    var baseline: [String] = []

    func prepare() throws -> ReportOptions.Files {
        try ReportOptions.documents(json: json, junit: junit, html: html, markdown: markdown, report: report, baseline: baseline)
    }
}
