import Packets

/// The advertising interval behind the times at which events were heard. A random delay of 0 to 10 ms follows each interval (Core Vol 6, Part B, 4.4.2.2.1);
/// what a scanner has missed shows as a multiple.
struct AdvertisingIntervalEstimate: Equatable {
    /// Without the delay.
    var interval: Microseconds
    /// How far off it may be.
    var tolerance: Microseconds
    /// How many intervals it is the mean of.
    var count: Int

    static let longestDelay = Microseconds.milliseconds(10)
    /// Fewer say nothing; where events are missed, more are needed.
    private static let leastCount = 6
    /// Fewer may all be multiples, so that a part without a single interval would pass for a phase of its own.
    private static let phaseCount = 12
    /// Between two events there is more; reports that are closer are of one event.
    private static let eventLength = Microseconds.milliseconds(5)

    /// - Parameters:
    ///   - times: of reports, in order.
    ///   - jitter: how late a report may be told.
    init?(_ times: [Microseconds], jitter: Microseconds) {
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
        // With every second event missed, every second gap is a single one: the square keeps what is told sure.
        let share = (count / Double(gaps.count) - 0.2).rounded(.up)
        guard Double(gaps.count) >= Double(Self.leastCount) * share * share else { return nil }
        let delay = Double(Self.longestDelay.rawValue)
        self.count = Int(count)
        interval = Microseconds(Int64((mean - delay / 2).rounded()))
        // The delays are spread evenly: their mean is off by 10 ms / sqrt(12 n), four times which is never seen.
        let spread: Double = 4 * delay / (12 * count).squareRoot()
        let schedulingDelay: Double = 2 * Double(jitter.rawValue) / count
        tolerance = Microseconds(Int64(spread + schedulingDelay + 312.5))
    }

    /// The interval of a list that it can be; nil if it is none of them.
    func nearest(of intervals: [Microseconds]) -> Microseconds? {
        intervals.filter { distance(to: $0) <= tolerance.rawValue }.min {
            distance(to: $0) < distance(to: $1)
        }
    }

    private func distance(to other: Microseconds) -> Int64 { Int64(abs((other - interval).rawValue)) }

    static func gaps(_ times: [Microseconds]) -> [Microseconds] {
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

    /// What a gap without a missed event is like, in microseconds: the mean of the shortest and those that the delay alone makes longer. Two intervals
    /// are longer than one with the delay, as the shortest interval is 20 ms.
    private static func single(_ gaps: [Microseconds], _ slack: Microseconds) -> Double {
        let shortest = gaps.min() ?? .zero
        let singles = gaps.filter { $0 <= shortest + slack }
        return singles.map { Double($0.rawValue) }.reduce(0, +) / Double(max(1, singles.count))
    }

    /// The gaps since the device changed its interval, if it did.
    private static func lastPhase(_ gaps: [Microseconds], _ slack: Microseconds) -> [Microseconds] {
        guard gaps.count >= 2 * phaseCount else { return gaps }
        let (first, second) = (Array(gaps[..<(gaps.count / 2)]), Array(gaps[(gaps.count / 2)...]))
        let (early, late) = (single(first, slack), single(second, slack))
        return abs(early - late) > Double(longestDelay.rawValue) + min(early, late) / 5 ? second : gaps
    }
}
