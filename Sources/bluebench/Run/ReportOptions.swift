import ArgumentParser
import BBConformance
import BBReport
import BBSessions
import BBTransport
import Foundation

/// The documents with results.
struct DocumentOptions: ParsableArguments {
    @Option(help: ArgumentHelp("Write everything to a folder.", valueName: "folder"), completion: .directory) var report: String?
    @Option(help: ArgumentHelp("Write results as JSON.", valueName: "file"), completion: .file()) var json: String?
    @Option(help: ArgumentHelp("Write results as JUnit XML.", valueName: "file"), completion: .file()) var junit: String?
    @Option(help: ArgumentHelp("Write a self-contained HTML page.", valueName: "file"), completion: .file()) var html: String?
    @Option(
        help: ArgumentHelp("Write a Markdown summary for a CI job; - for standard output.", valueName: "file"), completion: .file())
    var markdown: String?
    @Option(
        help: ArgumentHelp(
            "Write the results by public test case: JSON if the name ends in .json, else CSV.", valueName: "file"), completion: .file())
    var publicTests: String?
    @Option(
        help: ArgumentHelp(
            "Earlier results or report folder: the page shows what changed in a case since it last passed. Repeatable.",
            valueName: "results"), completion: .file())
    var baseline: [String] = []

    /// True if a document has the results by public test case.
    var showsPublicTests: Bool { report != nil || html != nil || publicTests != nil }
}

/// The labels of a run.
struct LabelOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Name of the tested build, such as a firmware version. In all reports; `history` groups by it.", valueName: "name"))
    var build: String?
    @Option(help: ArgumentHelp("Label of the run in its reports. Repeatable.", valueName: "name=value"))
    var label: [String] = []

    func labels() throws -> [String: String] {
        var labels = build.map { [RunResult.buildLabel: $0] } ?? [:]
        for text in label {
            let parts = text.split(separator: "=", maxSplits: 1).map(String.init)
            guard parts.count == 2 else { throw CommandFailure(.usage, "--label \(text): write NAME=VALUE") }
            labels[parts[0]] = parts[1]
        }
        return labels
    }
}

/// The documents of a run and their labels.
struct ReportOptions: ParsableArguments {
    @OptionGroup var documents: DocumentOptions
    @Option(
        help: ArgumentHelp(
            "Write the verdicts for each HCI command of the DUT's controller as Markdown.", valueName: "file", visibility: .hidden),
        completion: .file())
    var scorecard: String?
    @OptionGroup var labelling: LabelOptions

    var report: String? { documents.report }

    /// True if a document shows the packets of each case.
    var showPackets: Bool { documents.report != nil || documents.json != nil || documents.html != nil }

    /// The output files of a run, which have been checked to be writable.
    struct Files {
        var json: [OutputFile] = []
        var junit: [OutputFile] = []
        var html: [OutputFile] = []
        var scorecard: [OutputFile] = []
        var markdown: [OutputFile] = []
        /// The results by public test case, as JSON and as CSV.
        var publicJSON: [OutputFile] = []
        var publicCSV: [OutputFile] = []
        /// The tables of public test cases; nil if no document needs them.
        var publicTests: PublicSelection?
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
            let publicReport = publicTests?.report(of: result) ?? PublicReport(result)
            let documents: [([OutputFile], () throws -> String)] = [
                (publicJSON, publicReport.json), (publicCSV, { publicReport.csv }),
                (json, { try ResultsJSON.text(result, about: run) }), (scorecard, { ReportOptions.scorecard(of: result) }),
                (markdown, { MarkdownSummary(result, about: run).text }), (junit, { JUnit.text(result, about: run) }),
                (
                    html,
                    { [throughput, earlier] in
                        try HTMLPage(result, throughput: throughput, about: run, comparedWith: earlier, publicReport: publicReport).text()
                    }
                ),
            ]
            var failed: [(reason: String, paths: [String])] = []
            for (files, makeText) in documents where !files.isEmpty {
                let text = try makeText()
                let shown = secrets?.hide(text) ?? text
                for file in files {
                    guard let reason = file.failureOfWriting(Data(shown.utf8)) else { continue }
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

    /// Makes the folder and checks that every file can be written.
    func prepare(_ captures: CaptureOptions) throws -> Files {
        var paths = OutputPaths()
        try paths.add(documents.texts + texts + captures.texts)
        let capture = captures.capture == nil ? ["capture.pcapng"] : []
        if let report { try paths.add((DocumentOptions.names + capture).map { ("--report", "\(report)/\($0)") }) }
        var files = try documents.prepare()
        files.capture = captures.capture ?? report.map { $0 + "/capture.pcapng" }
        files.scorecard = try DocumentOptions.outputs(scorecard, report, "scorecard.md")
        return files
    }
}

extension DocumentOptions {
    /// The files of a report folder besides captures.
    fileprivate static let names = [
        "results.json", "junit.xml", "index.html", "scorecard.md", "results.jsonl", "throughput.json", "public-tests.json",
        "public-tests.csv",
    ]

    func prepare() throws -> ReportOptions.Files {
        var files = ReportOptions.Files()
        // Read before anything is written, because the folder may be that of this run.
        files.earlier = EarlierRuns(try baseline.map { try ResultsFile.read($0) }.map { ($0.result, $0.facts) })
        if let report {
            try? FileManager.default.createDirectory(atPath: report, withIntermediateDirectories: true)
            // Foundation does not pass on the system's message.
            guard mkdir(report, 0o777) == 0 || errno == EEXIST else {
                throw CommandFailure(refusing: "cannot make the folder \(report)", errno)
            }
            files.folder = report
            files.formerCaptures = ReportOptions.formerCaptures(in: report)
            files.store = report + "/results.jsonl"
            files.throughputJSON = report + "/throughput.json"
        }
        files.json = try Self.outputs(json, report, "results.json")
        files.junit = try Self.outputs(junit, report, "junit.xml")
        files.html = try Self.outputs(html, report, "index.html")
        files.markdown = try Self.outputs(markdown, nil, "")
        let isJSON = publicTests?.hasSuffix(".json") == true
        files.publicJSON = try Self.outputs(isJSON ? publicTests : nil, report, "public-tests.json")
        files.publicCSV = try Self.outputs(isJSON ? nil : publicTests, report, "public-tests.csv")
        return files
    }

    /// Returns the files; rejects a path that is given twice.
    func prepareAlone() throws -> ReportOptions.Files {
        var paths = OutputPaths()
        try paths.add(texts)
        if let report { try paths.add(Self.names.map { ("--report", "\(report)/\($0)") }) }
        return try prepare()
    }

    fileprivate static func outputs(_ own: String?, _ folder: String?, _ name: String) throws -> [OutputFile] {
        try [own, folder.map { "\($0)/\(name)" }].compactMap { $0 }.map { try OutputFile($0) }
    }
}
