import Foundation
import Mustache

/// A history as a self-contained HTML page without scripts or further files.
public enum HistoryPage {
    /// - Parameter title: title of the history.
    public static func html(_ title: String, _ trends: [Trend], _ verdicts: [HistoryVerdicts]) throws -> String {
        let library = MustacheLibrary(templates: [
            "page": try template(PackageResources.page_mustache), "change": try template(PackageResources.change_mustache),
            "row": try template(PackageResources.row_mustache), "plot": try template(PackageResources.plot_mustache),
            "verdicts": try template(PackageResources.verdicts_mustache),
        ])
        let changed = changed(trends)
        let page: [String: Any] = [
            "title": title, "style": text(PackageResources.history_css), "summary": summary(trends, verdicts),
            "hasChanged": !changed.isEmpty, "changed": changed,
            "setups": TrendTable.bySetup(trends).map { ["name": $0.first?.series.setup ?? "", "rows": $0.map(row)] as [String: Any] },
            "verdicts": VerdictPlot.sections(verdicts),
        ]
        return library.render(page, withTemplate: "page") ?? ""
    }

    private static func template(_ file: [UInt8]) throws -> MustacheTemplate { try MustacheTemplate(string: text(file)) }

    /// An embedded file without the newline at its end.
    private static func text(_ file: [UInt8]) -> String { String(decoding: file.dropLast(), as: UTF8.self) }

    private static func summary(_ trends: [Trend], _ verdicts: [HistoryVerdicts]) -> String {
        let runs = Set(trends.flatMap { $0.series.points.map(\.run) }).union(verdicts.map(\.run.number)).count
        return ["\(runs) runs", trends.isEmpty ? nil : TrendTable.summary(trends)].compactMap { $0 }.joined(separator: "; ")
    }

    /// Rows with a change, the latest change first.
    private static func changed(_ trends: [Trend]) -> [[String: Any]] {
        trends.filter { !$0.changes.isEmpty }.sorted { ($0.changes.last?.point.date ?? "") > ($1.changes.last?.point.date ?? "") }.map {
            ["anchor": anchor($0), "name": TrendTable.name($0.series), "latest": $0.changes.suffix(1).map(change)]
        }
    }

    private static func row(_ trend: Trend) -> [String: Any] {
        let level = trend.levels.last.map {
            "level \(TrendTable.fixed($0.median)) ± \(TrendTable.fixed($0.band)) \(trend.series.metric.unit)"
        }
        let latest = trend.latest.map { $0.value.map { "latest \(TrendTable.fixed($0))" } ?? "no figure: \($0.failure ?? "unknown")" }
        return [
            "anchor": anchor(trend), "name": TrendTable.name(trend.series),
            "level": [latest, level].compactMap { $0 }.joined(separator: ", "),
            "plot": TrendPlot(trend).fields, "hasChanged": !trend.changes.isEmpty, "changes": trend.changes.map(change),
            "count": trend.series.points.count, "unit": trend.series.metric.unit,
            "runs": trend.series.points.reversed().map { point in
                [
                    "build": point.build, "day": TrendTable.day(point.date),
                    "value": point.value.map(TrendTable.fixed) ?? point.failure ?? "-",
                ]
            },
        ]
    }

    private static func change(_ change: Trend.Change) -> [String: Any] {
        [
            "kind": change.isWorse ? "worse" : "better", "percent": String(format: "%+.1f %%", change.percent), "build": change.point.build,
            "day": TrendTable.day(change.point.date), "before": TrendTable.fixed(change.before), "after": TrendTable.fixed(change.after),
        ]
    }

    private static func anchor(_ trend: Trend) -> String {
        let name = "\(trend.series.setupNumber)-\(trend.series.name)-\(trend.series.metric.rawValue)"
        return "row-" + String(name.map { $0.isASCII && ($0.isLetter || $0.isNumber) ? $0 : "-" })
    }
}
