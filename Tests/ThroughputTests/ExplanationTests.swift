import BBPackets
import BBTraffic
import Testing

@testable import BBThroughput

/// The cause of idle air time: 2M, 15 ms, ten packets per event, of which 8.8 were received.
@Suite struct ExplanationTests {
    struct Row: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var counters: LinkCounters?
        var supply: SupplyCounters?
        var limit: Limit
    }

    private static func supply(waiting: Int, dry: Int, most: Int) -> SupplyCounters {
        var supply = SupplyCounters()
        (supply.waitingForCredits, supply.ranDry, supply.mostInController) = (waiting, dry, most)
        return supply
    }

    private static func counters(full: Int, empty: Int, silent: Int) -> LinkCounters {
        var counters = LinkCounters()
        (counters.events, counters.exchanges) = (100, 880)
        (counters.endedFull, counters.endedEmpty, counters.endedSilent) = (full, empty, silent)
        return counters
    }

    @Test(arguments: [
        Row(
            testDescription: "a dongle that holds fewer packets than an event takes", supply: supply(waiting: 90, dry: 0, most: 8),
            limit: .credits),
        Row(testDescription: "a dongle that holds enough", supply: supply(waiting: 90, dry: 0, most: 16), limit: .peer),
        Row(testDescription: "a host that keeps a dongle waiting", supply: supply(waiting: 3, dry: 40, most: 16), limit: .host),
        Row(testDescription: "a foreign sender on a dongle", limit: .peer),
        Row(
            testDescription: "simulated, events end for want of data", counters: counters(full: 10, empty: 90, silent: 0),
            supply: supply(waiting: 90, dry: 0, most: 8), limit: .credits),
        Row(
            testDescription: "simulated, events end in silence", counters: counters(full: 10, empty: 10, silent: 80),
            supply: supply(waiting: 90, dry: 0, most: 8), limit: .retransmissions),
    ])
    func idleAir(_ row: Row) {
        let link = LinkParameters(phy: .le2M, interval: 15_000, octets: 251, mtu: 247)
        let ceiling = Ceiling(link)
        let explanation = Explanation(
            goodput: ceiling.perInterval * 0.88, link: link, ceiling: ceiling, limited: ceiling, counters: row.counters, supply: row.supply)
        #expect(explanation.limit == row.limit)
        let idle = explanation.missing.first { $0.cause == row.limit }
        #expect(abs((idle?.kbps ?? 0) - ceiling.perInterval * 0.12) < 0.1)
    }
}
