import BBPackets
import Testing

@testable import BBConformance
@testable import BBTiming

/// A window in wall time that the machine served late is extended by exactly the delay.
struct SchedulingDelayTests {
    struct Row: Sendable {
        /// Delays within the window in ms; those up to the period do not count.
        var delays: [Int]
        var slack: Int
        /// End of the case in ms after the start of the window.
        var last: Int
        /// Extension of the window in ms; nil for none.
        var granted: Int?
    }

    static let rows = [
        Row(delays: [], slack: 50, last: 60_000, granted: nil),
        Row(delays: [20, 15, 20], slack: 0, last: 60_000, granted: nil),
        Row(delays: [40], slack: 50, last: 60_000, granted: nil),
        Row(delays: [130], slack: 50, last: 60_000, granted: 130),
        Row(delays: [40, 30, 10], slack: 50, last: 60_000, granted: 70),
        Row(delays: [130], slack: 50, last: 30_060, granted: 60),
        Row(delays: [130], slack: 50, last: 30_000, granted: nil),
    ]

    @Test(arguments: rows) func prolongs(_ row: Row) {
        var delays = SchedulingDelays(period: .milliseconds(20))
        delays.note(.milliseconds(500), at: .milliseconds(99))
        for (index, delay) in row.delays.enumerated() { delays.note(.milliseconds(delay), at: .milliseconds(200 * (index + 1))) }
        let (origin, end) = (Microseconds.milliseconds(100), Microseconds.milliseconds(30_100))
        var limits = WindowLimits(origin: TimeReference(origin), notAfter: end, waitUntil: end)
        let (slack, last) = (Microseconds.milliseconds(row.slack), origin + .milliseconds(row.last))
        let total = delays.total(since: origin)
        let isProlonged = limits.prolong(by: total, slack: slack, last: last)
        #expect(isProlonged == (row.granted != nil))
        let granted = Microseconds.milliseconds(row.granted ?? 0)
        #expect(limits.granted == granted && limits.notAfter == end + granted && limits.waitUntil == end + granted)
        let isProlongedAgain = limits.prolong(by: total, slack: slack, last: last)
        #expect(!isProlongedAgain, "the same delays prolong once")
    }
}
