/// The latest figures and verdicts of a history in the OpenMetrics 1.0 text format, for scraping.
public enum OpenMetrics {
    public static func text(_ trends: [Trend], _ verdicts: [HistoryVerdicts]) -> String {
        ([setups(trends, verdicts)] + rows(trends) + cases(verdicts)).map(\.text).joined() + "# EOF\n"
    }

    private struct Family {
        var name: String
        var unit: String?
        var help: String
        var isInfo = false
        var samples: [(labels: [(String, String)], value: Double)]

        var text: String {
            guard !samples.isEmpty else { return "" }
            let lines = samples.map { sample in
                let labels = sample.labels.map { "\($0.0)=\"\(OpenMetrics.escaped($0.1))\"" }.joined(separator: ",")
                return "\(name)\(isInfo ? "_info" : ""){\(labels)} \(isInfo ? "1" : "\(sample.value)")\n"
            }
            return "# TYPE \(name) \(isInfo ? "info" : "gauge")\n" + (unit.map { "# UNIT \(name) \($0)\n" } ?? "")
                + "# HELP \(name) \(OpenMetrics.escaped(help))\n"
                + lines.joined()
        }
    }

    /// The description of each setup, whose number is a label of all other samples.
    private static func setups(_ trends: [Trend], _ verdicts: [HistoryVerdicts]) -> Family {
        let described = trends.map { ($0.series.setupNumber, $0.series.setup) } + verdicts.map { ($0.run.setupNumber, $0.run.setup) }
        let setups = Dictionary(described) { first, _ in first }.sorted { $0.key < $1.key }
        return Family(
            name: "bluebench_setup", help: "Devices and options of a setup.", isInfo: true,
            samples: setups.map { ([label($0.key), ("description", $0.value)], 1) })
    }

    private static func label(_ setup: Int64) -> (String, String) { ("setup", "\(setup)") }

    private static func rows(_ trends: [Trend]) -> [Family] {
        HistoryMetric.allCases.flatMap { metric in
            let own = trends.filter { $0.series.metric == metric }
            let name = "bluebench_\(metric.openMetricsName)"
            func family(_ suffix: String, _ help: String, _ value: (Trend) -> Double?) -> Family {
                Family(
                    name: suffix.isEmpty ? "\(name)_\(metric.openMetricsUnit)" : "\(name)_\(suffix)",
                    unit: suffix.isEmpty ? metric.openMetricsUnit : suffix.hasSuffix("ratio") ? "ratio" : nil, help: help,
                    samples: own.compactMap { trend in value(trend).map { (labels(trend.series), $0) } })
            }
            return [
                family("", "Median of the repetitions in the latest run.") { $0.latest?.value.map { $0 * metric.openMetricsScale } },
                family("of_ceiling_ratio", "The latest run's part of what the link could carry.") { trend in
                    guard let value = trend.latest?.value, let ceiling = trend.latest?.ceiling else { return nil }
                    return value / ceiling
                },
                family("failed", "1 where the latest run has no figure.") { $0.latest.map { $0.value == nil ? 1 : 0 } },
                family("change_ratio", "The last change of level, of the level before.") { $0.changes.last.map { $0.percent / 100 } },
                family("runs_since_change", "Runs on the present level.") { $0.changes.last.map { Double($0.age) } },
            ]
        }
    }

    private static func labels(_ series: HistorySeries) -> [(String, String)] { [label(series.setupNumber), ("row", series.name)] }

    /// Verdict counts of the latest run of each set-up.
    private static func cases(_ verdicts: [HistoryVerdicts]) -> [Family] {
        var latest: [Int64: HistoryVerdicts] = [:]
        for run in verdicts { latest[run.run.setupNumber] = run }
        let runs = latest.sorted { $0.key < $1.key }.map(\.value)
        return [
            Family(
                name: "bluebench_cases", help: "Cases of the latest run by verdict.",
                samples: runs.flatMap { run in
                    run.counts.sorted { $0.key < $1.key }.map { ([label(run.run.setupNumber), ("verdict", $0.key)], Double($0.value)) }
                }),
            Family(
                name: "bluebench_flaky_cases", help: "Cases of the latest run that passed only when they were run again.",
                samples: runs.map { ([label($0.run.setupNumber)], Double($0.flaky.count)) }),
        ]
    }

    static func escaped(_ text: String) -> String {
        text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"").replacing("\n", with: "\\n")
    }
}

extension HistoryMetric {
    fileprivate var openMetricsName: String {
        switch self {
        case .goodput: "goodput"
        case .roundTripMedian: "round_trip_p50"
        case .roundTripTail: "round_trip_p99"
        }
    }

    /// OpenMetrics requires base units.
    fileprivate var openMetricsUnit: String {
        switch self {
        case .goodput: "bits_per_second"
        case .roundTripMedian, .roundTripTail: "seconds"
        }
    }

    fileprivate var openMetricsScale: Double {
        switch self {
        case .goodput: 1_000
        case .roundTripMedian, .roundTripTail: 1e-6
        }
    }
}
