import Foundation
import GRDB
import Throughput

extension HistoryFile {
    /// Adds all runs or none.
    ///
    /// - Returns: their numbers.
    /// - Throws: `HistoryError`, also if the history already contains a run.
    public func add(_ entries: [(name: String, entry: HistoryEntry)]) throws(HistoryError) -> [Int64] {
        try write { database in
            try entries.map { name, entry in
                if let known = try Int64.fetchOne(database, sql: "SELECT id FROM run WHERE identity = ?", arguments: [entry.identity]) {
                    throw HistoryError("\(name) is in \(path) already, as run \(known); nothing was added")
                }
                return try Self.add(entry, to: database)
            }
        }
    }

    private static func add(_ entry: HistoryEntry, to database: Database) throws -> Int64 {
        try database.execute(
            sql: "INSERT INTO setup (key, name) VALUES (?, ?) ON CONFLICT DO NOTHING", arguments: [entry.key, entry.setupName])
        let setup = try Int64.fetchOne(database, sql: "SELECT id FROM setup WHERE key = ?", arguments: [entry.key])
        try database.execute(
            sql: "INSERT INTO run (kind, setup, identity, date, build, host, program, labels) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            arguments: [
                entry.kind.rawValue, setup, entry.identity, entry.date, entry.build, entry.host, entry.program,
                HistoryEntry.canonical(entry.labels),
            ])
        let run = database.lastInsertedRowID
        switch entry.content {
        case .throughput(let results): for row in results.rows { try add(row, run, setup, database) }
        case .verdicts(let results): for result in results.cases { try add(result, run, database) }
        }
        return run
    }

    private static func add(_ row: ThroughputResults.Row, _ run: Int64, _ setup: Int64?, _ database: Database) throws {
        for figure in row.historyFigures {
            let key: StatementArguments = [setup, row.name, figure.metric.rawValue]
            try database.execute(sql: "INSERT INTO series (setup, name, metric) VALUES (?, ?, ?) ON CONFLICT DO NOTHING", arguments: key)
            try database.execute(
                sql: """
                    INSERT INTO figure (run, series, value, deviation, repetitions, ceiling, failure)
                    SELECT ?, id, ?, ?, ?, ?, ? FROM series WHERE setup = ? AND name = ? AND metric = ? ON CONFLICT DO NOTHING
                    """,
                arguments: [run, figure.value, figure.deviation, figure.repetitions, figure.ceiling, row.failure] + key)
        }
    }

    private static func add(_ result: VerdictResults.Case, _ run: Int64, _ database: Database) throws {
        try database.execute(sql: "INSERT INTO testcase (name) VALUES (?) ON CONFLICT DO NOTHING", arguments: [result.id])
        try database.execute(
            sql: """
                INSERT INTO verdict (run, testcase, verdict, flaky, message)
                SELECT ?, id, ?, ?, ? FROM testcase WHERE name = ? ON CONFLICT DO NOTHING
                """,
            arguments: [run, result.verdict, result.isFlaky == true ? 1 : 0, result.message ?? "", result.id])
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
