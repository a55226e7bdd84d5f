/// A run in a history.
public struct HistoryRun: Sendable, Encodable {
    public enum Kind: String, Sendable, Codable {
        case throughput, verdicts
    }

    /// Number of the run, from 1, in the order of addition.
    public var number: Int64
    public var kind: Kind
    /// UTC, in ISO 8601.
    public var date: String
    public var build: String
    public var host: String
    /// Version of the program that created the results.
    public var program: String
    public var labels: [String: String]
    /// Description of the set-up, and its number.
    public var setup: String
    public var setupNumber: Int64
    /// Number of rows or cases.
    public var count: Int

    private enum CodingKeys: String, CodingKey {
        case kind, date, build, host, program, labels, setup, count
        case number = "run"
        case setupNumber = "setup_number"
    }
}

extension HistoryRun {
    public static func table(_ runs: [HistoryRun]) -> ComparisonTable {
        ComparisonTable(
            columns: ["run", "kind", "date", "build", "rows", "set-up and labels"],
            rows: runs.map { run in
                let labels = run.labels.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
                return [
                    "\(run.number)", run.kind.rawValue, run.date, run.build, "\(run.count)", ([run.setup] + labels).joined(separator: "; "),
                ]
            }, summary: "\(runs.count) runs")
    }
}

/// Measured quantity of a row.
public enum HistoryMetric: String, Sendable, Codable, CaseIterable {
    /// kbit/s.
    case goodput
    /// For `ping`: median and 99th percentile, in us.
    case roundTripMedian = "round-trip-p50"
    case roundTripTail = "round-trip-p99"
}

extension HistoryMetric {
    public var unit: String {
        switch self {
        case .goodput: "kbit/s"
        case .roundTripMedian, .roundTripTail: "us"
        }
    }

    /// True if higher values are better.
    public var rises: Bool {
        switch self {
        case .goodput: true
        case .roundTripMedian, .roundTripTail: false
        }
    }
}

/// Figures of a row by date, all from one set-up.
public struct HistorySeries: Sendable {
    public struct Point: Sendable {
        public var run: Int64
        public var date: String
        public var build: String
        /// The figure; nil if the row had none.
        public var value: Double?
        /// Median absolute deviation of the repetitions.
        public var deviation: Double
        public var repetitions: Int
        public var ceiling: Double?
        public var failure: String?
    }

    public var setup: String
    public var setupNumber: Int64
    public var name: String
    public var metric: HistoryMetric
    public var points: [Point]
}

/// Verdict counts of a run, and the changes since the previous run.
public struct HistoryVerdicts: Sendable {
    public struct Turn: Sendable, Encodable {
        public var id: String
        public var before: String
        public var now: String
        public var message: String

        private enum CodingKeys: String, CodingKey {
            case before, now, message
            case id = "case"
        }
    }

    public var run: HistoryRun
    /// Counts by verdict.
    public var counts: [String: Int]
    public var turns: [Turn]
    public var flaky: [String]
}
