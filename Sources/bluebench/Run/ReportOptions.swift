import ArgumentParser
import Conformance
import Foundation
import Report
import Transport

/// The options for the output of a run's results.
struct ReportOptions: ParsableArguments {
    @Option(help: ArgumentHelp("Write results as JSON.", valueName: "file"), completion: .file()) var json: String?
    @Option(help: ArgumentHelp("Write results as JUnit XML.", valueName: "file"), completion: .file()) var junit: String?
    @Option(help: ArgumentHelp("Write one HTML page.", valueName: "file"), completion: .file()) var html: String?
    @Option(
        help: ArgumentHelp("Write as Markdown what was found of the subject's controller, command by command.", valueName: "file"),
        completion: .file())
    var scorecard: String?
    @Option(
        help: ArgumentHelp("Write a summary in Markdown, as CI services show for a job; - for the standard output.", valueName: "file"),
        completion: .file())
    var markdown: String?
    @Option(
        help: ArgumentHelp(
            "Write the packets of tester and subject: .btsnoop, or .pcapng with the simulated air and a comment where a case begins, fails and ends.",
            valueName: "file"), completion: .file())
    var capture: String?
    @Flag(help: "Keep in the capture's air what carries nothing, too: empty packets of links, ID, POLL and NULL. --air always has them.")
    var idleAir = false
    @Option(help: ArgumentHelp("Write every transmission on the simulated air, in pcapng.", valueName: "file"), completion: .file())
    var air: String?
    @Option(
        help: ArgumentHelp(
            "Write the keys of encrypted links on the simulated air: `bluebench show --keylog` opens the air log with them.",
            valueName: "file"), completion: .file())
    var keylog: String?
    @Option(help: ArgumentHelp("Write all of it into a folder.", valueName: "folder"), completion: .directory) var report: String?
    @Option(
        help: ArgumentHelp(
            "Results of an earlier run, or its report folder: the page says what differs of a case since it last passed. May be repeated.",
            valueName: "results"), completion: .file())
    var baseline: [String] = []
    @Flag(help: "Leave the keys of links in results and captures, which have them hidden otherwise.") var keys = false

    /// The output files of a run, which have been checked to be writable.
    struct Files {
        var json: [OutputFile] = []
        var junit: [OutputFile] = []
        var html: [OutputFile] = []
        var scorecard: [OutputFile] = []
        var markdown: [OutputFile] = []
        var capture: String?
        /// The report's folder.
        var folder: String?
        /// The journal, which receives each result immediately.
        var store: String?
        /// The path of the throughput results.
        var throughputJSON: String?
        var throughput: [ThroughputBar] = []
        /// The captures of the previous run in the folder; nil if there was none.
        var formerCaptures: Set<String>?
        /// The temporary path of the previous capture until this run starts.
        var aside: String?
        /// The earlier results for comparison in the report.
        var earlier = EarlierRuns()

        /// Writes all files that can be written.
        ///
        /// - Parameter secrets: removes the keys.
        /// - Returns: the files that could not be written, with the reasons.
        func write(_ result: RunResult, about run: RunFacts, hiding secrets: Secrets?) throws -> [String] {
            let page = html.isEmpty ? "" : try HTMLPage(result, throughput: throughput, about: run, comparedWith: earlier).text()
            let documents = [
                (json, try ResultsJSON.text(result, about: run)), (scorecard, ReportOptions.scorecard(of: result)),
                (markdown, MarkdownSummary(result, about: run).text),
                (junit, JUnit.text(result, about: run)), (html, page),
            ].map { ($0, secrets?.hide($1) ?? $1) }
            var failed: [(reason: String, paths: [String])] = []
            for (files, text) in documents {
                for file in files {
                    guard let reason = file.failureOfWriting(Data(text.utf8)) else { continue }
                    if let index = failed.firstIndex(where: { $0.reason == reason }) {
                        failed[index].paths.append(file.path)
                    } else {
                        failed.append((reason, [file.path]))
                    }
                }
            }
            return failed.map { "cannot write \($0.paths.joined(separator: ", ")): \($0.reason)" }
        }
    }

    /// Returns the scorecard, or the reason why there is none.
    private static func scorecard(of result: RunResult) -> String {
        result.scorecard?.markdown(of: result.subject) ?? "# \(result.subject)\n\nThe bench did not have its HCI.\n"
    }

    /// Creates the folder and checks that all files can be written.
    func prepare() throws -> Files {
        var files = Files()
        // Read before anything is written, because the folder may be that of this run.
        files.earlier = EarlierRuns(try baseline.map { try ResultsFile.read($0) }.map { ($0.result, $0.facts) })
        if let report {
            try? FileManager.default.createDirectory(atPath: report, withIntermediateDirectories: true)
            // Foundation does not pass on the system's message.
            guard mkdir(report, 0o777) == 0 || errno == EEXIST else {
                throw CommandFailure(.usage, "cannot make the folder \(report): \(systemText(errno))")
            }
            files.folder = report
            files.formerCaptures = ReportOptions.formerCaptures(in: report)
            files.store = report + "/results.jsonl"
            files.throughputJSON = report + "/throughput.json"
        }
        files.capture = capture ?? report.map { $0 + "/capture.pcapng" }
        var paths = OutputPaths()
        for (option, path) in [
            ("--json", json), ("--junit", junit), ("--html", html), ("--scorecard", scorecard), ("--markdown", markdown),
            ("--capture", files.capture), ("--air", air), ("--keylog", keylog),
        ] {
            try paths.add(option, path)
        }
        for name in report == nil ? [] : ["results.json", "junit.xml", "index.html", "scorecard.md", "results.jsonl", "throughput.json"] {
            try paths.add("--report", report.map { "\($0)/\(name)" })
        }
        files.json = try Self.outputs(json, report, "results.json")
        files.junit = try Self.outputs(junit, report, "junit.xml")
        files.html = try Self.outputs(html, report, "index.html")
        files.scorecard = try Self.outputs(scorecard, report, "scorecard.md")
        files.markdown = try Self.outputs(markdown, nil, "")
        return files
    }

    /// Returns only the documents of existing results.
    static func documents(
        json: String?, junit: String?, html: String?, markdown: String?, report: String?, baseline: [String]
    ) throws -> Files {
        var options = try Self.parse([])
        (options.json, options.junit, options.html, options.markdown, options.report) = (json, junit, html, markdown, report)
        options.baseline = baseline
        var files = try options.prepare()
        files.capture = nil
        files.scorecard = []
        return files
    }

    private static func outputs(_ own: String?, _ folder: String?, _ name: String) throws -> [OutputFile] {
        try [own, folder.map { "\($0)/\(name)" }].compactMap { $0 }.map { try OutputFile($0) }
    }
}
