import BBThroughput
import Foundation

extension HistoryFile {
    /// Adds all runs or none.
    ///
    /// - Returns: their numbers.
    /// - Throws: `HistoryError`, also if the history already contains a run.
    public func add(_ entries: [(name: String, entry: HistoryEntry)]) throws(HistoryError) -> [Int64] {
        try write { database in
            try entries.map { name, entry in
                if let known = try database.integer("SELECT id FROM run WHERE identity = ?", [.text(entry.identity)]) {
                    throw HistoryError("\(name) is in \(path) already, as run \(known); nothing was added")
                }
                return try Self.add(entry, to: database)
            }
        }
    }

    private static func add(_ entry: HistoryEntry, to database: borrowing SQLiteDatabase) throws -> Int64 {
        try database.rows("INSERT INTO setup (key, name) VALUES (?, ?) ON CONFLICT DO NOTHING", [.text(entry.key), .text(entry.setupName)])
        let setup = SQLiteValue(try database.integer("SELECT id FROM setup WHERE key = ?", [.text(entry.key)]))
        let texts = [
            entry.identity, entry.date, entry.build, entry.host, entry.program, HistoryEntry.canonical(entry.labels),
        ].map { SQLiteValue.text($0) }
        try database.rows(
            "INSERT INTO run (kind, setup, identity, date, build, host, program, labels) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            [.text(entry.kind.rawValue), setup] + texts)
        let run = database.lastInsertedRow
        switch entry.content {
        case .throughput(let results): for row in results.rows { try add(row, run, setup, database) }
        case .verdicts(let results): for result in results.cases { try add(result, run, database) }
        }
        return run
    }

    private static func add(_ row: ThroughputResults.Row, _ run: Int64, _ setup: SQLiteValue, _ database: borrowing SQLiteDatabase) throws {
        for figure in row.historyFigures {
            let key: [SQLiteValue] = [setup, .text(row.name), .text(figure.metric.rawValue)]
            try database.rows("INSERT INTO series (setup, name, metric) VALUES (?, ?, ?) ON CONFLICT DO NOTHING", key)
            try database.rows(
                """
                INSERT INTO figure (run, series, value, deviation, repetitions, ceiling, failure)
                SELECT ?, id, ?, ?, ?, ?, ? FROM series WHERE setup = ? AND name = ? AND metric = ? ON CONFLICT DO NOTHING
                """,
                [
                    SQLiteValue(run), SQLiteValue(figure.value), .real(figure.deviation), SQLiteValue(figure.repetitions),
                    SQLiteValue(figure.ceiling), SQLiteValue(row.failure),
                ] + key)
        }
    }

    private static func add(_ result: VerdictResults.Case, _ run: Int64, _ database: borrowing SQLiteDatabase) throws {
        try database.rows("INSERT INTO testcase (name) VALUES (?) ON CONFLICT DO NOTHING", [.text(result.id)])
        try database.rows(
            """
            INSERT INTO verdict (run, testcase, verdict, flaky, message)
            SELECT ?, id, ?, ?, ? FROM testcase WHERE name = ? ON CONFLICT DO NOTHING
            """,
            [
                .integer(run), .text(result.verdict), .integer(result.isFlaky == true ? 1 : 0), .text(result.message ?? ""),
                .text(result.id),
            ])
    }
}

extension ThroughputResults.Row {
    struct HistoryFigure {
        var metric: HistoryMetric
        var value: Double?
        var deviation: Double
        var repetitions: Int
        var ceiling: Double?
    }

    /// Figures of the row that are stored in a history.
    var historyFigures: [HistoryFigure] {
        let isMeasured = failure == nil
        let times = isMeasured ? roundTrips : nil
        let latencies = [(HistoryMetric.roundTripMedian, times?.median), (.roundTripTail, times?.p99)].compactMap { metric, value in
            value.map { HistoryFigure(metric: metric, value: Double($0), deviation: 0, repetitions: 1, ceiling: nil) }
        }
        return [
            HistoryFigure(
                metric: .goodput, value: isMeasured ? figures.median : nil, deviation: figures.medianAbsoluteDeviation,
                repetitions: figures.values.count, ceiling: ceiling > 0 ? ceiling : nil)
        ] + latencies
    }
}
