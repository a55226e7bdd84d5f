import Foundation
import Mustache

/// A history as a self-contained HTML page without scripts or further files.
public enum HistoryPage {
    /// - Parameter title: title of the history.
    public static func html(_ title: String, _ trends: [Trend], _ verdicts: [HistoryVerdicts]) throws -> String {
        let library = MustacheLibrary(templates: [
            "page": try MustacheTemplate(string: HistoryTemplate.page), "change": try MustacheTemplate(string: HistoryTemplate.change),
            "row": try MustacheTemplate(string: HistoryTemplate.row), "plot": try MustacheTemplate(string: HistoryTemplate.plot),
            "verdicts": try MustacheTemplate(string: HistoryTemplate.verdicts),
        ])
        let setups = Dictionary(grouping: trends, by: \.series.setupNumber).sorted { $0.key < $1.key }.map(\.value)
        let changed = changed(trends)
        let page: [String: Any] = [
            "title": title, "style": style, "summary": summary(trends, verdicts), "hasChanged": !changed.isEmpty, "changed": changed,
            "setups": setups.map { ["name": $0.first?.series.setup ?? "", "rows": $0.map(row)] as [String: Any] },
            "verdicts": VerdictPlot.sections(verdicts),
        ]
        return library.render(page, withTemplate: "page") ?? ""
    }

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

    private static let style = """
        :root{color-scheme:light dark;--page:#fbfbfa;--card:#fff;--ink:#1d2126;--soft:#59626c;--rule:#d9dde1;--line:#1f5fa8;--band:#1f5fa81f;--worse:#b3261e;\
        --better:#19692c;--pass:#2e7d41;--fail:#b3261e;--other:#8a6d00}
        @media (prefers-color-scheme:dark){:root{--page:#15181b;--card:#1d2125;--ink:#e6e9ec;--soft:#a4adb6;--rule:#363d44;--line:#7fb2ee;--band:#7fb2ee2e;\
        --worse:#ff8f85;--better:#7bd492;--pass:#5fbf7a;--fail:#ff8f85;--other:#e0bf55}}
        *{box-sizing:border-box}body{margin:0 auto;max-width:1200px;padding:16px;background:var(--page);color:var(--ink);font:15px/1.45 system-ui,sans-serif}
        h1{font-size:1.4rem;margin:0}h2{font-size:1.05rem;margin:1.6em 0 .6em;overflow-wrap:anywhere}h3{font-size:.95rem;margin:0;overflow-wrap:anywhere}
        header p,footer p,article p{color:var(--soft);margin:.2em 0 .5em}
        .rows{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,340px),1fr));gap:12px}
        article{background:var(--card);border:1px solid var(--rule);border-radius:6px;padding:10px 12px;min-width:0;break-inside:avoid}
        svg{display:block;width:100%;height:auto;max-width:560px}svg text{fill:var(--soft);font:10px system-ui,sans-serif}
        .end{text-anchor:end}.mid{text-anchor:middle}.grid{stroke:var(--rule);stroke-width:.6}.band{fill:var(--band)}.level{stroke:var(--line);stroke-width:1.2}
        .line{fill:none;stroke:var(--line);stroke-width:.7;opacity:.55}circle{fill:var(--line)}.failed{stroke:var(--fail);stroke-width:1.5;fill:none}
        g.worse line{stroke:var(--worse)}g.better line{stroke:var(--better)}g line{stroke-width:1.2;stroke-dasharray:3 2}
        svg g.worse text{fill:var(--worse);font-weight:700}svg g.better text{fill:var(--better);font-weight:700}
        .worse{color:var(--worse)}.better{color:var(--better)}ol,ul{margin:.4em 0;padding-left:1.4em}li{overflow-wrap:anywhere}a{color:var(--line)}
        table{border-collapse:collapse;width:100%;font-size:.88rem}td,th{border-bottom:1px solid var(--rule);padding:2px 6px;text-align:left;overflow-wrap:anywhere}
        .number{text-align:right;font-variant-numeric:tabular-nums}summary{cursor:pointer}
        .pass{fill:var(--pass)}.fail{fill:var(--fail)}.other{fill:var(--other)}.na{fill:var(--rule)}
        @media print{:root{--page:#fff;--card:#fff;--ink:#000;--soft:#333}details{display:none}}
        """
}
