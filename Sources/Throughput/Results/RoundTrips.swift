import BBPackets
import Histogram

/// Durations of round trips in microseconds, with three significant digits.
public struct RoundTrips: Sendable, Hashable, Codable {
    public struct Step: Sendable, Hashable, Codable {
        public var percentile: Double
        public var microseconds: UInt64
        /// Number of round trips up to this step.
        public var count: UInt64

        private enum CodingKeys: String, CodingKey {
            case percentile, count
            case microseconds = "us"
        }
    }

    public var count: UInt64
    public var min: UInt64
    public var mean: Double
    public var median: UInt64
    public var p90: UInt64
    public var p99: UInt64
    public var max: UInt64
    /// Distribution in steps that each halve the distance to the slowest, five times.
    public var histogram: [Step]

    private enum CodingKeys: String, CodingKey {
        case count, min, mean, p90, p99, max, histogram
        case median = "p50"
    }
}

/// Records round trips.
struct RoundTripRecorder {
    private var histogram = Histogram<UInt64>(numberOfSignificantValueDigits: .three)

    init() { histogram.autoResize = true }

    mutating func record(_ time: Microseconds) { _ = histogram.record(UInt64(clamping: time.rawValue)) }

    /// Statistics of the round trips; nil if there were none.
    var figures: RoundTrips? {
        guard histogram.totalCount > 0 else { return nil }
        var (steps, sum): ([RoundTrips.Step], UInt64) = ([], 0)
        for value in histogram.percentiles(ticksPerHalfDistance: 2) {
            sum += value.countAddedInThisIterationStep
            steps.append(.init(percentile: value.percentileLevelIteratedTo, microseconds: value.value, count: sum))
        }
        return RoundTrips(
            count: histogram.totalCount, min: histogram.min, mean: (histogram.mean * 10).rounded() / 10, median: histogram.median,
            p90: histogram.valueAtPercentile(90), p99: histogram.valueAtPercentile(99), max: histogram.max, histogram: steps)
    }
}
