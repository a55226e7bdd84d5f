import ArgumentParser
import Conformance
import Foundation
import Report

/// Where the results of a run go.
struct ReportOptions: ParsableArguments {
    @Option(help: ArgumentHelp("Write results as JSON.", valueName: "file")) var json: String?
    @Option(help: ArgumentHelp("Write results as JUnit XML.", valueName: "file")) var junit: String?
    @Option(help: ArgumentHelp("Write one HTML page.", valueName: "file")) var html: String?
    @Option(help: ArgumentHelp("Write the packets of tester and subject: .btsnoop or .pcapng.", valueName: "file")) var capture: String?
    @Option(help: ArgumentHelp("Write every transmission on the simulated air, in pcapng.", valueName: "file")) var air: String?
    @Option(help: ArgumentHelp("Write all of it into a folder.", valueName: "folder")) var report: String?

    /// The files of one run, known to be writable.
    struct Files {
        var json: [String] = []
        var junit: [String] = []
        var html: [String] = []
        var capture: String?
        /// Where each result goes as soon as it is there.
        var store: String?
        /// Where rows of throughput go.
        var throughputJSON: String?
        var throughput: [ThroughputBar] = []

        func write(_ result: RunResult) throws {
            let text = try ResultsJSON.text(result)
            for path in json { try OutputFile.write(text, to: path, orElse: .bench) }
            for path in junit { try OutputFile.write(JUnit.text(result), to: path, orElse: .bench) }
            guard !html.isEmpty else { return }
            let page = try HTMLPage(result, throughput: throughput).text()
            for path in html { try OutputFile.write(page, to: path, orElse: .bench) }
        }
    }

    func prepare() throws -> Files {
        var files = Files(
            json: [json].compactMap { $0 }, junit: [junit].compactMap { $0 }, html: [html].compactMap { $0 }, capture: capture)
        if let report {
            do {
                try FileManager.default.createDirectory(atPath: report, withIntermediateDirectories: true)
            } catch {
                throw CommandFailure(.usage, "cannot make the folder \(report): \(error.localizedDescription)")
            }
            files.json.append(report + "/results.json")
            files.junit.append(report + "/junit.xml")
            files.html.append(report + "/index.html")
            files.capture = capture ?? report + "/capture.btsnoop"
            files.store = report + "/results.jsonl"
            files.throughputJSON = report + "/throughput.json"
        }
        for path in files.json + files.junit + files.html {
            let folder = URL(fileURLWithPath: path).deletingLastPathComponent().path
            guard FileManager.default.isWritableFile(atPath: folder) else { throw CommandFailure(.usage, "cannot write \(path)") }
        }
        return files
    }
}
