import Foundation

/// Verdicts of runs side by side with the changes between them, for `verdicts.mustache`.
enum VerdictPlot {
    private static let (width, height) = (360.0, 110.0)
    private static let order: [(verdicts: [String], name: String)] = [
        (["PASS"], "pass"), (["FAIL", "ERROR"], "fail"), (["INCONC"], "other"), (["N/A"], "na"),
    ]

    static func sections(_ verdicts: [HistoryVerdicts]) -> [[String: Any]] {
        Dictionary(grouping: verdicts, by: \.run.setupNumber).sorted { $0.key < $1.key }.map { section($0.value) }
    }

    private static func section(_ runs: [HistoryVerdicts]) -> [String: Any] {
        let turns = runs.reversed().flatMap { run in run.turns.map { (run.run, $0) } }.prefix(200)
        let (last, flaky) = (runs.last, runs.last?.flaky ?? [])
        return [
            "setup": last?.run.setup ?? "", "counts": last.map(counts) ?? "", "build": last?.run.build ?? "",
            "width": Int(saturating: width),
            "height": Int(saturating: height), "runCount": runs.count, "runs": bars(runs), "hasTurned": !turns.isEmpty,
            "turns": turns.map(turn),
            "isFlaky": !flaky.isEmpty, "flaky": flaky.joined(separator: ", "),
        ]
    }

    private static func counts(_ run: HistoryVerdicts) -> String {
        run.counts.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" }.joined(separator: ", ")
    }

    private static func bars(_ runs: [HistoryVerdicts]) -> [[String: Any]] {
        let most = Double(max(1, runs.map { $0.counts.values.reduce(0, +) }.max() ?? 1))
        let step = width / Double(runs.count)
        return runs.enumerated().map { index, run in
            var y = height
            var bars: [[String: Any]] = []
            for (verdicts, name) in order {
                let tall = Double(verdicts.reduce(0) { $0 + (run.counts[$1] ?? 0) }) / most * (height - 4)
                guard tall > 0 else { continue }
                // Keep one failing case among a thousand visible.
                let shown = max(2, tall)
                y -= shown
                bars.append([
                    "class": name, "x": number(Double(index) * step), "y": number(max(0, y)), "width": number(min(24, step * 0.85)),
                    "height": number(shown),
                ])
            }
            return ["title": "\(run.run.build), \(TrendTable.day(run.run.date)): \(counts(run))", "bars": bars]
        }
    }

    private static func number(_ value: Double) -> String { String(format: "%.1f", value) }

    private static func turn(_ run: HistoryRun, _ turn: HistoryVerdicts.Turn) -> [String: Any] {
        ["id": turn.id, "turned": "\(turn.before) to \(turn.now)", "build": run.build, "day": TrendTable.day(run.date)]
    }
}
