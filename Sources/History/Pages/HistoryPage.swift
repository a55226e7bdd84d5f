import Foundation

/// A history as one self-contained page: no script, no file beside it.
public enum HistoryPage {
    /// - Parameter title: what the history is of.
    public static func html(_ title: String, _ trends: [Trend], _ verdicts: [HistoryVerdicts]) -> String {
        let bySetup = Dictionary(grouping: trends, by: \.series.setupNumber).sorted { $0.key < $1.key }.map(\.value)
        return """
            <!DOCTYPE html>
            <html lang="en">
            <head>
            <meta charset="utf-8">
            <meta name="viewport" content="width=device-width, initial-scale=1">
            <title>\(escaped(title))</title>
            <style>\(style)</style>
            </head>
            <body>
            <header><h1>\(escaped(title))</h1>
            <p>\(escaped(summary(trends, verdicts)))</p></header>
            <main>
            \(attention(trends))\(bySetup.map(section).joined())\(VerdictPlot.sections(verdicts))</main>
            <footer><p>A band is where noise keeps a row: three standard deviations about the level's median. Changes of level are found by seeded \
            binary segmentation with a robust CUSUM and confirmed by a permutation test.</p></footer>
            </body>
            </html>

            """
    }

    static func escaped(_ text: String) -> String {
        text.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(">", with: "&gt;").replacing("\"", with: "&quot;")
    }

    private static func summary(_ trends: [Trend], _ verdicts: [HistoryVerdicts]) -> String {
        let runs = Set(trends.flatMap { $0.series.points.map(\.run) }).union(verdicts.map(\.run.number)).count
        return ["\(runs) runs", trends.isEmpty ? nil : TrendTable.summary(trends)].compactMap { $0 }.joined(separator: "; ")
    }

    /// The rows that changed, the latest change first.
    private static func attention(_ trends: [Trend]) -> String {
        let changed = trends.filter { !$0.changes.isEmpty }.sorted {
            ($0.changes.last?.point.date ?? "") > ($1.changes.last?.point.date ?? "")
        }
        guard !changed.isEmpty else { return "" }
        let items = changed.map { trend in
            "<li><a href=\"#\(anchor(trend))\">\(escaped(TrendTable.name(trend.series)))</a> "
                + (trend.changes.last.map(words) ?? "") + "</li>"
        }
        return "<section><h2>What changed</h2>\n<ul>\(items.joined(separator: "\n"))</ul></section>\n"
    }

    private static func section(_ trends: [Trend]) -> String {
        guard let setup = trends.first?.series.setup else { return "" }
        return "<section><h2>\(escaped(setup))</h2>\n<div class=\"rows\">\n" + trends.map(card).joined() + "</div></section>\n"
    }

    private static func card(_ trend: Trend) -> String {
        let level = trend.levels.last.map {
            "level \(TrendTable.fixed($0.median)) ± \(TrendTable.fixed($0.band)) \(trend.series.metric.unit)"
        }
        let latest = trend.latest.map { $0.value.map { "latest \(TrendTable.fixed($0))" } ?? "no figure: \($0.failure ?? "unknown")" }
        let changes = trend.changes.map { "<li>\(words($0))</li>" }.joined()
        return """
            <article id="\(anchor(trend))">
            <h3>\(escaped(TrendTable.name(trend.series)))</h3>
            <p>\(escaped([latest, level].compactMap { $0 }.joined(separator: ", ")))</p>
            \(TrendPlot(trend).svg)
            \(changes.isEmpty ? "" : "<ol>\(changes)</ol>")
            <details><summary>all \(trend.series.points.count) runs</summary>
            <table><thead><tr><th>build</th><th>date</th><th class="number">\(escaped(trend.series.metric.unit))</th></tr></thead><tbody>
            \(trend.series.points.reversed().map(row).joined(separator: "\n"))
            </tbody></table></details>
            </article>

            """
    }

    private static func words(_ change: Trend.Change) -> String {
        let kind = change.isWorse ? "worse" : "better"
        return "<span class=\"\(kind)\"><b>\(String(format: "%+.1f %%", change.percent))</b> \(kind)</span> since "
            + "\(escaped(change.point.build)), \(escaped(TrendTable.day(change.point.date))): "
            + "\(TrendTable.fixed(change.before)) to \(TrendTable.fixed(change.after))"
    }

    private static func row(_ point: HistorySeries.Point) -> String {
        "<tr><td>\(escaped(point.build))</td><td>\(escaped(TrendTable.day(point.date)))</td>"
            + "<td class=\"number\">\(point.value.map(TrendTable.fixed) ?? escaped(point.failure ?? "-"))</td></tr>"
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
