import BBPackets
import BBTiming
import Testing

@testable import BBProducts

/// Advertising intervals computed from the times of received events.
struct AdvertisingIntervalTests {
    private static let list: [Double] = [20, 152.5, 211.25, 318.75, 417.5, 546.25, 760, 852.5, 1022.5, 1285]

    /// Reception times of events of a device that advertises with an interval in ms, with a percentage of missed events.
    private static func times(_ interval: Double, _ count: Int, missed: Int = 0, seed: UInt64 = 1) -> [Microseconds] {
        var random = RandomSource(seed: seed, label: "advertising")
        var time = Microseconds.seconds(1)
        var heard: [Microseconds] = []
        while heard.count < count {
            if Int(random.next() % 100) >= missed { heard.append(time) }
            time = time + Microseconds(Int64(saturating: interval * 1_000)) + Microseconds(Int64(random.next() % 10_000))
        }
        return heard
    }

    @Test(arguments: list, [(missed: 0, heard: 8), (0, 48), (20, 48), (45, 96), (60, 96)])
    func anIntervalOfTheListIsFound(_ interval: Double, _ air: (missed: Int, heard: Int)) throws {
        let list = Self.list.map { Microseconds(Int64(saturating: $0 * 1_000)) }
        for seed in 1...20 as ClosedRange<UInt64> {
            let times = Self.times(interval, air.heard, missed: air.missed, seed: seed)
            let estimate = try #require(AdvertisingIntervalEstimate(times, jitter: .zero))
            #expect(estimate.nearest(of: list) == Microseconds(Int64(saturating: interval * 1_000)), "\(estimate)")
        }
    }

    /// With few received events any interval may fit: then the result is nil or correct.
    @Test(arguments: list, [12, 24, 48]) func whatIsHeardOfALossyAirMisleadsNobody(_ interval: Double, _ heard: Int) {
        let list = Self.list.map { Microseconds(Int64(saturating: $0 * 1_000)) }
        for seed in 1...50 as ClosedRange<UInt64> {
            let estimate = AdvertisingIntervalEstimate(Self.times(interval, heard, missed: 60, seed: seed), jitter: .zero)
            #expect(
                estimate.map { $0.nearest(of: list) == Microseconds(Int64(saturating: interval * 1_000)) } ?? true,
                "\(String(describing: estimate))")
        }
    }

    @Test(arguments: [30, 50, 100, 140, 200, 250, 300, 500, 1_000, 1_100], [0, 20]) func anotherIntervalIsNot(
        _ interval: Double, _ missed: Int
    ) throws {
        let list = Self.list.map { Microseconds(Int64(saturating: $0 * 1_000)) }
        for seed in 1...20 as ClosedRange<UInt64> {
            let estimate = try #require(AdvertisingIntervalEstimate(Self.times(interval, 48, missed: missed, seed: seed), jitter: .zero))
            #expect(estimate.nearest(of: list) == nil, "\(estimate)")
        }
    }

    @Test func theLastPhaseCounts() throws {
        let fast = Self.times(20, 30)
        let slow = Self.times(1_022.5, 30).map { $0 + (fast.last ?? .zero) }
        let estimate = try #require(AdvertisingIntervalEstimate(fast + slow, jitter: .zero))
        #expect(estimate.nearest(of: [.milliseconds(20), Microseconds(1_022_500)]) == Microseconds(1_022_500))
        #expect(AdvertisingIntervalEstimate(Array(fast.prefix(4)), jitter: .zero) == nil)
    }
}
