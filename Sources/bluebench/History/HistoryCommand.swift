import ArgumentParser
import BBHistory
import BBPackets
import BBReport
import BBSessions
import Foundation

/// `bluebench history`: displays the results of many runs.
struct HistoryCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "history", abstract: "Keep results over time, and find where figures changed.",
        discussion: """
            HISTORY is a file of SQLite. Files of `bluebench throughput --json` and `bluebench run --json` are added to it; runs that were measured with the \
            same ends, settings and labels make one trend for each row.
            """,
        subcommands: [HistoryAddCommand.self, HistoryListCommand.self, HistoryShowCommand.self, HistoryPlotCommand.self])
}

struct HistoryAddCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "add", abstract: "Add files of results, all or none. Refuses a run that is already there.")

    @Argument(help: "History file; created if missing.", completion: .file()) var history: String
    @Argument(help: "Files of results.", completion: .file()) var files: [String]
    @Option(
        help: ArgumentHelp("Name of the tested build. Default: the label 'build' of a file, or the program's version.", valueName: "name"))
    var build: String?
    @Option(help: ArgumentHelp("Label of the runs, for information. Repeatable.", valueName: "name=value")) var label: [String] =
        []
    @Option(
        help: ArgumentHelp("Date of files that contain none, in UTC. Default: the time of the file.", valueName: "YYYY-MM-DDTHH:MM:SS"))
    var date: String?

    func validate() throws {
        if let date, Self.parser.date(from: date) == nil {
            throw ValidationError("--date \(date): write it as 2026-11-22T01:17:16, in UTC")
        }
        guard label.allSatisfy({ $0.split(separator: "=", maxSplits: 1).count == 2 }) else {
            throw ValidationError("--label: write NAME=VALUE")
        }
        guard !files.isEmpty else { throw ValidationError("missing file of results: name one or more") }
    }

    private static var parser: DateFormatter {
        let formatter = DateFormatter()
        formatter.locale = Locale(identifier: "en_US_POSIX")
        formatter.timeZone = TimeZone(secondsFromGMT: 0)
        formatter.dateFormat = "yyyy-MM-dd'T'HH:mm:ss"
        formatter.isLenient = false
        return formatter
    }

    func run() throws {
        let labels = Dictionary(label.map { $0.split(separator: "=", maxSplits: 1).map(String.init) }.map { ($0[0], $0[1]) }) { $1 }
        let entries = try files.map { ($0, try entry($0, labels)) }
        do {
            let numbers = try HistoryFile(history, makes: true).add(entries)
            for (number, entry) in zip(numbers, entries) {
                Console.line(PlainText.escaped("\(entry.0) is run \(number): \(entry.1.build), \(entry.1.date)"))
            }
        } catch { throw HistoryOptions.failure(error) }
    }

    private func entry(_ path: String, _ labels: [String: String]) throws -> HistoryEntry {
        let data = try InputFile.data(path)
        let made = (try? FileManager.default.attributesOfItem(atPath: path))?[.modificationDate] as? Date
        do {
            return try HistoryEntry(
                json: data, name: path, date: date ?? made.map(Self.parser.string) ?? "unknown", build: build, labels: labels)
        } catch { throw HistoryOptions.failure(error) }
    }
}

struct HistoryListCommand: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "list", abstract: "One line for each run.")

    @Argument(help: "History file.", completion: .file()) var history: String
    @Option(help: ArgumentHelp("Write the runs as JSON.", valueName: "file"), completion: .file()) var json: String?

    func run() throws {
        let output = try json.map { try OutputFile($0) }
        let runs: [HistoryRun]
        do { runs = try HistoryFile(history, makes: false).runs() } catch { throw HistoryOptions.failure(error) }
        Console.line(HistoryRun.table(runs).text)
        try output?.write(ResultsJSON.encode(runs))
    }
}

struct HistoryShowCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show", abstract: "Show each row's level, noise and last change, and verdicts that changed.",
        discussion: "Exit code 1 where --fail-within finds a change for the worse.")

    @OptionGroup var rows: HistoryOptions
    @Option(
        help: ArgumentHelp("Exit code 1 if a row has become worse within its last n runs.", valueName: "runs"),
        transform: Arguments.whole(1...1_000_000))
    var failWithin: Int?
    @Option(help: ArgumentHelp("Write trends, changes and verdicts as JSON.", valueName: "file"), completion: .file()) var json: String?
    @Option(help: ArgumentHelp("Write the latest figures as OpenMetrics text.", valueName: "file"), completion: .file())
    var openmetrics: String?

    func run() throws {
        var paths = OutputPaths()
        for (option, path) in [("--json", json), ("--openmetrics", openmetrics)] { try paths.add(option, path) }
        let outputs = (json: try json.map { try OutputFile($0) }, metrics: try openmetrics.map { try OutputFile($0) })
        let (trends, verdicts) = try rows.read()
        Console.line(TrendTable.text(trends))
        if let last = verdicts.last { Console.line(PlainText.escaped(Self.line(last))) }
        for turn in verdicts.last?.turns ?? [] { Console.line(PlainText.escaped("  \(turn.id): \(turn.before) to \(turn.now)")) }
        try outputs.json?.write(TrendTable.json(trends, verdicts))
        try outputs.metrics?.write(OpenMetrics.text(trends, verdicts))
        guard let failWithin else { return }
        let worse = trends.filter { $0.changes.contains { $0.isWorse && $0.age <= failWithin } }
        guard worse.isEmpty else {
            throw CommandFailure(.fail, "worse within \(failWithin) runs: " + worse.map(\.series.name).joined(separator: "; "))
        }
    }

    private static func line(_ run: HistoryVerdicts) -> String {
        let counts = run.counts.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" }.joined(separator: ", ")
        return "verdicts of \(run.run.build), \(run.run.date): \(counts); \(run.turns.count) turned"
    }
}

struct HistoryPlotCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "plot", abstract: "Write an HTML page with the trend, the noise and the changes of each row.")

    @OptionGroup var rows: HistoryOptions
    @Argument(help: "HTML file to write.", completion: .file()) var page: String
    @Option(help: "Heading of the page.") var title = "Bluebench: results over time"

    func run() throws {
        let output = try OutputFile(page)
        let (trends, verdicts) = try rows.read()
        guard !trends.isEmpty || !verdicts.isEmpty else { throw CommandFailure(.usage, "\(rows.history) has nothing to plot") }
        try output.write(HistoryPage.html(title, trends, verdicts))
        Console.line("\(page): \(trends.count) rows, \(verdicts.count) runs of verdicts")
    }
}

/// The options that select part of a history.
struct HistoryOptions: ParsableArguments {
    @Argument(help: "History file.", completion: .file()) var history: String
    @Option(help: ArgumentHelp("Only rows whose name contains a text: 'notify from-subject 2m'. Repeatable.", valueName: "text")) var row:
        [String] = []
    @Option(help: ArgumentHelp("Only the last n runs of each row.", valueName: "n"), transform: Arguments.whole(1...1_000_000))
    var last: Int?
    @Option(help: ArgumentHelp("Smallest change of a level to report.", valueName: "percent")) var smallest = 1.0

    func validate() throws {
        guard (0...100).contains(smallest) else { throw ValidationError("--smallest takes a percentage from 0 to 100") }
    }

    func read() throws -> ([Trend], [HistoryVerdicts]) {
        do {
            let file = try HistoryFile(history, makes: false)
            let trends = try file.series(matching: row, last: last).map { Trend($0, settings: .init(smallest: smallest)) }
            guard row.isEmpty || !trends.isEmpty else {
                throw CommandFailure(.usage, "no row's name holds \(row.joined(separator: " or "))")
            }
            for text in row where !trends.contains(where: { $0.series.name.contains(text) }) {
                Console.complain("--row \(text): no row's name contains it")
            }
            return (trends, row.isEmpty ? try file.verdicts(last: last) : [])
        } catch { throw Self.failure(error) }
    }

    static func failure(_ error: any Error) -> CommandFailure {
        guard let error = error as? HistoryError else { return CommandFailure(error) }
        return CommandFailure(error.isEnvironment ? .bench : .usage, "\(error)")
    }
}
