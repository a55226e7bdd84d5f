import Foundation

extension HistoryFile {
    /// All runs by date, oldest first.
    public func runs() throws(HistoryError) -> [HistoryRun] {
        try read { database in
            try database.rows(
                """
                SELECT run.*, setup.name AS setup_name,
                    (SELECT COUNT(*) FROM figure WHERE figure.run = run.id)
                    + (SELECT COUNT(*) FROM verdict WHERE verdict.run = run.id) AS count
                FROM run JOIN setup ON setup.id = run.setup ORDER BY run.date, run.id
                """
            ).map(Self.run)
        }
    }

    /// Figures of every row, grouped by set-up.
    ///
    /// - Parameters:
    ///   - texts: only rows whose name contains one of them; empty for all.
    ///   - last: number of latest figures per row; nil for all.
    public func series(matching texts: [String] = [], last: Int? = nil) throws(HistoryError) -> [HistorySeries] {
        let all = try read { database in
            try database.rows(
                """
                SELECT series.id AS series, series.name AS name, series.metric AS metric, setup.id AS setup, setup.name AS setup_name,
                    run.id AS run, run.date AS date, run.build AS build,
                    figure.value AS value, figure.deviation AS deviation, figure.repetitions AS repetitions,
                    figure.ceiling AS ceiling, figure.failure AS failure
                FROM figure JOIN series ON series.id = figure.series JOIN run ON run.id = figure.run JOIN setup ON setup.id = series.setup
                ORDER BY setup.id, series.id, run.date, run.id
                """
            ).reduce(into: [(id: Int64, series: HistorySeries)]()) { list, row in
                let id = try row.integer("series")
                if list.last?.id != id {
                    guard let metric = HistoryMetric(rawValue: try row.text("metric")) else { return }
                    let series = HistorySeries(
                        setup: try row.text("setup_name"), setupNumber: try row.integer("setup"), name: try row.text("name"),
                        metric: metric, points: [])
                    list.append((id, series))
                }
                list[list.count - 1].series.points.append(try Self.point(row))
            }
        }
        return all.map(\.series).filter { series in texts.isEmpty || texts.contains { series.name.contains($0) } }.map { series in
            var series = series
            if let last { series.points = Array(series.points.suffix(last)) }
            return series
        }
    }

    /// Verdict runs by date, each with its changes since the previous run of the same set-up.
    public func verdicts(last: Int? = nil) throws(HistoryError) -> [HistoryVerdicts] {
        let runs = try runs().filter { $0.kind == .verdicts }
        var previous: [Int64: [String: String]] = [:]
        var found: [HistoryVerdicts] = []
        for run in runs {
            let rows = try read { database in
                try database.rows(
                    """
                    SELECT testcase.name AS name, verdict, flaky, message FROM verdict JOIN testcase ON testcase.id = verdict.testcase
                    WHERE run = ? ORDER BY testcase.name
                    """, [.integer(run.number)]
                ).map {
                    (
                        name: try $0.text("name"), verdict: try $0.text("verdict"), flaky: try $0.integer("flaky"),
                        message: try $0.text("message")
                    )
                }
            }
            let before = previous[run.setupNumber] ?? [:]
            found.append(
                HistoryVerdicts(
                    run: run, counts: rows.reduce(into: [:]) { $0[$1.verdict, default: 0] += 1 },
                    turns: rows.compactMap { row in
                        guard let old = before[row.name], old != row.verdict else { return nil }
                        return .init(id: row.name, before: old, now: row.verdict, message: row.message)
                    },
                    flaky: rows.filter { $0.flaky != 0 }.map(\.name)))
            // A run of some cases keeps the known verdicts of the others.
            previous[run.setupNumber, default: [:]].merge(rows.map { ($0.name, $0.verdict) }) { $1 }
        }
        return last.map { Array(found.suffix($0)) } ?? found
    }

    private static func run(_ row: SQLiteRow) throws -> HistoryRun {
        let labels = try row.text("labels")
        return HistoryRun(
            number: try row.integer("id"), kind: HistoryRun.Kind(rawValue: try row.text("kind")) ?? .verdicts, date: try row.text("date"),
            build: try row.text("build"), host: try row.text("host"), program: try row.text("program"),
            labels: (try? JSONDecoder().decode([String: String].self, from: Data(labels.utf8))) ?? [:], setup: try row.text("setup_name"),
            setupNumber: try row.integer("setup"), count: Int(try row.integer("count")))
    }

    private static func point(_ row: SQLiteRow) throws -> HistorySeries.Point {
        .init(
            run: try row.integer("run"), date: try row.text("date"), build: try row.text("build"), value: try row.realIfAny("value"),
            deviation: try row.real("deviation"), repetitions: Int(try row.integer("repetitions")), ceiling: try row.realIfAny("ceiling"),
            failure: try row.textIfAny("failure"))
    }
}
