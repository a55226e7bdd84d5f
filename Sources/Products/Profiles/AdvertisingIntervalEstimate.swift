import BBPackets

/// The estimate of an advertising interval from the times of received events. A random delay of 0 to 10 ms follows each interval
/// (Core Vol 6, Part B, 4.4.2.2.1); missed events cause multiples.
package struct AdvertisingIntervalEstimate: Equatable {
    /// The interval without the delay.
    package var interval: Microseconds
    /// Possible error of the estimated interval.
    package var tolerance: Microseconds
    /// The number of intervals in the mean.
    package var count: Int

    package static let longestDelay = Microseconds.milliseconds(10)
    /// The minimum number of gaps; more are needed if events are missed.
    private static let leastCount = 6
    /// The minimum number of gaps in a phase; fewer might all be multiples and be mistaken for a separate phase.
    private static let phaseCount = 12
    /// The minimum gap between two events; reports with a smaller gap belong to one event.
    private static let eventLength = Microseconds.milliseconds(5)

    /// - Parameters:
    ///   - times: the times of the reports in order.
    ///   - jitter: the maximum delay of a report.
    package init?(_ times: [Microseconds], jitter: Microseconds) {
        let slack = Self.longestDelay + jitter + jitter
        let gaps = Self.lastPhase(Self.gaps(times), slack)
        guard gaps.count >= Self.leastCount else { return nil }
        let times = gaps.map { Double($0.rawValue) }
        let span: Double = times.reduce(0, +)
        var mean = Self.single(gaps, slack)
        var count = Double(gaps.count)
        for _ in 0..<4 {
            count = times.map { max(1, ($0 / mean).rounded()) }.reduce(0, +)
            mean = span / count
        }
        // If every second event is missed, few gaps are single intervals: the square ensures a reliable estimate.
        let share = (count / Double(gaps.count) - 0.2).rounded(.up)
        guard Double(gaps.count) >= Double(Self.leastCount) * share * share else { return nil }
        let delay = Double(Self.longestDelay.rawValue)
        self.count = Int(saturating: count)
        interval = Microseconds(Int64(saturating: (mean - delay / 2).rounded()))
        // The delays are uniformly distributed: the standard error of their mean is 10 ms / sqrt(12 n), and four times that is practically
        // never exceeded.
        let spread: Double = 4 * delay / (12 * count).squareRoot()
        let schedulingDelay: Double = 2 * Double(jitter.rawValue) / count
        tolerance = Microseconds(Int64(saturating: spread + schedulingDelay + 312.5))
    }

    /// Returns the matching interval of a list; nil if none matches.
    package func nearest(of intervals: [Microseconds]) -> Microseconds? {
        intervals.filter { distance(to: $0) <= tolerance.rawValue }.min {
            distance(to: $0) < distance(to: $1)
        }
    }

    private func distance(to other: Microseconds) -> Int64 { Int64(abs((other - interval).rawValue)) }

    package static func gaps(_ times: [Microseconds]) -> [Microseconds] {
        var gaps: [Microseconds] = []
        var last: Microseconds?
        for time in times {
            guard let before = last else {
                last = time
                continue
            }
            guard time - before > eventLength else { continue }
            gaps.append(time - before)
            last = time
        }
        return gaps
    }

    /// Returns the mean gap without a missed event in microseconds: the mean of the shortest gap and of those that are longer only because
    /// of the delay.
    /// Two intervals are longer than one with the delay, because the shortest interval is 20 ms.
    private static func single(_ gaps: [Microseconds], _ slack: Microseconds) -> Double {
        let shortest = gaps.min() ?? .zero
        let singles = gaps.filter { $0 <= shortest + slack }
        return singles.map { Double($0.rawValue) }.reduce(0, +) / Double(max(1, singles.count))
    }

    /// Returns the gaps after the device's last change of the interval.
    private static func lastPhase(_ gaps: [Microseconds], _ slack: Microseconds) -> [Microseconds] {
        guard gaps.count >= 2 * phaseCount else { return gaps }
        let (first, second) = (Array(gaps[..<(gaps.count / 2)]), Array(gaps[(gaps.count / 2)...]))
        let (early, late) = (single(first, slack), single(second, slack))
        return abs(early - late) > Double(longestDelay.rawValue) + min(early, late) / 5 ? second : gaps
    }
}
