import Foundation

/// Runs of verdicts side by side, and what turned from one to the next.
enum VerdictPlot {
    private static let (width, height) = (360.0, 110.0)
    private static let order: [(verdicts: [String], name: String)] = [
        (["PASS"], "pass"), (["FAIL", "ERROR"], "fail"), (["INCONC"], "other"), (["N/A"], "na"),
    ]

    static func sections(_ verdicts: [HistoryVerdicts]) -> String {
        Dictionary(grouping: verdicts, by: \.run.setupNumber).sorted { $0.key < $1.key }.map { section($0.value) }.joined()
    }

    private static func section(_ runs: [HistoryVerdicts]) -> String {
        guard let last = runs.last else { return "" }
        let turns = runs.reversed().flatMap { run in run.turns.map { (run.run, $0) } }.prefix(200)
        return
            "<section><h2>Verdicts: \(HistoryPage.escaped(last.run.setup))</h2>\n<article>\n<p>\(counts(last)) in \(HistoryPage.escaped(last.run.build))</p>\n"
            + svg(runs) + (turns.isEmpty ? "<p>No verdict has turned.</p>" : table(Array(turns)))
            + (last.flaky.isEmpty ? "" : "<p>flaky in the latest run: \(HistoryPage.escaped(last.flaky.joined(separator: ", ")))</p>")
            + "</article></section>\n"
    }

    private static func counts(_ run: HistoryVerdicts) -> String {
        HistoryPage.escaped(run.counts.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" }.joined(separator: ", "))
    }

    private static func svg(_ runs: [HistoryVerdicts]) -> String {
        let most = Double(max(1, runs.map { $0.counts.values.reduce(0, +) }.max() ?? 1))
        let step = width / Double(runs.count)
        let bars = runs.enumerated().map { index, run in
            var y = height
            let parts = order.map { verdicts, name in
                let tall = Double(verdicts.reduce(0) { $0 + (run.counts[$1] ?? 0) }) / most * (height - 4)
                guard tall > 0 else { return "" }
                // One failing case among a thousand is still seen.
                let shown = max(2, tall)
                y -= shown
                return String(
                    format: "<rect class=\"%@\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/>", name, Double(index) * step,
                    max(0, y),
                    min(24, step * 0.85), shown)
            }
            let title = "\(run.run.build), \(TrendTable.day(run.run.date)): "
            return "<g><title>\(HistoryPage.escaped(title))\(counts(run))</title>\(parts.joined())</g>"
        }
        return
            "<svg viewBox=\"0 0 \(Int(width)) \(Int(height))\" role=\"img\" aria-label=\"Verdicts of \(runs.count) runs\">\(bars.joined())</svg>\n"
    }

    private static func table(_ turns: [(run: HistoryRun, turn: HistoryVerdicts.Turn)]) -> String {
        let rows = turns.map { run, turn in
            "<tr><td>\(HistoryPage.escaped(turn.id))</td><td>\(HistoryPage.escaped("\(turn.before) to \(turn.now)"))</td>"
                + "<td>\(HistoryPage.escaped(run.build))</td><td>\(HistoryPage.escaped(TrendTable.day(run.date)))</td></tr>"
        }
        return "<table><thead><tr><th>case</th><th>turned</th><th>at</th><th>date</th></tr></thead><tbody>\n"
            + rows.joined(separator: "\n") + "\n</tbody></table>\n"
    }
}
