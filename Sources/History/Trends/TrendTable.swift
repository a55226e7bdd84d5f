import BBPackets
import Foundation

/// Trends as text lines and as JSON.
public enum TrendTable {
    static func table(_ trends: [Trend]) -> ComparisonTable {
        ComparisonTable(
            columns: ["row", "runs", "latest", "level", "noise", "last change"],
            rows: trends.map { trend in
                let level = trend.levels.last
                return [
                    name(trend.series), "\(trend.series.points.count)", trend.latest?.value.map(fixed) ?? "-",
                    level.map { fixed($0.median) } ?? "-",
                    level.map { $0.median == 0 ? "-" : String(format: "%.2f %%", $0.band / abs($0.median) * 100) } ?? "-",
                    trend.changes.last.map(text) ?? trend.latest?.failure ?? "none",
                ]
            },
            summary: summary(trends))
    }

    /// The tables of all set-ups, each below the line of its set-up, and the summary.
    public static func text(_ trends: [Trend]) -> String {
        let lines = bySetup(trends).flatMap { ["set-up: " + PlainText.escaped($0.first?.series.setup ?? "")] + table($0).lines + [""] }
        return (lines + [summary(trends)]).joined(separator: "\n")
    }

    static func bySetup(_ trends: [Trend]) -> [[Trend]] {
        Dictionary(grouping: trends, by: \.series.setupNumber).sorted { $0.key < $1.key }.map(\.value)
    }

    static func name(_ series: HistorySeries) -> String {
        series.metric == .goodput ? series.name : "\(series.name) \(series.metric.rawValue)"
    }

    /// A change as text.
    static func text(_ change: Trend.Change) -> String {
        String(format: "%+.1f %%", change.percent) + " at \(change.point.build), \(day(change.point.date)), \(change.age) runs ago"
    }

    static func summary(_ trends: [Trend]) -> String {
        let changed = trends.count { !$0.changes.isEmpty }
        let worse = trends.count { $0.changes.last?.isWorse == true }
        return trends.isEmpty ? "no rows" : "\(trends.count) rows: \(changed) changed, \(worse) of them for the worse last"
    }

    static func day(_ date: String) -> String { String(date.prefix(10)) }

    static func fixed(_ value: Double) -> String { String(format: "%.1f", value) }

    public static func json(_ trends: [Trend], _ verdicts: [HistoryVerdicts]) throws -> Data {
        let encoder = JSONEncoder()
        encoder.keyEncodingStrategy = .convertToSnakeCase
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        return try encoder.encode(Document(rows: trends.map(Document.Row.init), verdicts: verdicts.map(Document.Verdicts.init)))
            + [UInt8(ascii: "\n")]
    }

    private struct Document: Encodable {
        struct Point: Encodable {
            var run: Int64
            var date: String
            var build: String
            var value: Double?
            var failure: String?
        }

        struct Change: Encodable {
            var run: Int64
            var build: String
            var date: String
            var before: Double
            var after: Double
            var percent: Double
            var worse: Bool
            var runsAgo: Int
        }

        struct Row: Encodable {
            var setup: String
            var name: String
            var metric: String
            var unit: String
            var level: Double?
            var band: Double?
            var changes: [Change]
            var points: [Point]

            init(_ trend: Trend) {
                (setup, name) = (trend.series.setup, trend.series.name)
                (metric, unit) = (trend.series.metric.rawValue, trend.series.metric.unit)
                (level, band) = (trend.levels.last?.median, trend.levels.last?.band)
                changes = trend.changes.map {
                    Change(
                        run: $0.point.run, build: $0.point.build, date: $0.point.date, before: $0.before, after: $0.after,
                        percent: $0.percent,
                        worse: $0.isWorse, runsAgo: $0.age)
                }
                points = trend.series.points.map {
                    Point(run: $0.run, date: $0.date, build: $0.build, value: $0.value, failure: $0.failure)
                }
            }
        }

        struct Verdicts: Encodable {
            var run: Int64
            var date: String
            var build: String
            var counts: [String: Int]
            var turns: [HistoryVerdicts.Turn]
            var flaky: [String]

            init(_ verdicts: HistoryVerdicts) {
                (run, date, build) = (verdicts.run.number, verdicts.run.date, verdicts.run.build)
                (counts, turns, flaky) = (verdicts.counts, verdicts.turns, verdicts.flaky)
            }
        }

        var rows: [Row]
        var verdicts: [Verdicts]
    }
}
