import BBPackets
import BBTiming
import Testing

@testable import BBSimulation

/// Links in sniff mode. Core Vol 2, Part B, 8.7.
@Suite struct SniffTests {
    struct Row: Sendable {
        var interval: UInt16
        var attempt: UInt16
        var timeout: UInt16
        var flags: UInt8 = 0

        var parameters: SniffParameters {
            SniffParameters(flags: flags, offset: interval / 3 & ~1, interval: interval, attempt: attempt, timeout: timeout)
        }
    }

    static let rows = [
        Row(interval: 40, attempt: 1, timeout: 0), Row(interval: 800, attempt: 4, timeout: 1),
        Row(interval: 98, attempt: 2, timeout: 8, flags: 2), Row(interval: 6, attempt: 1, timeout: 1),
        Row(interval: 64, attempt: 32, timeout: 0),
    ]

    /// True if the peripheral listens in a slot of the central, by a literal reading of the rules.
    private func isOpen(_ slot: Int, _ row: Row, data: [ClosedRange<Int>]) throws -> Bool {
        let isAnchor = { (slot: Int) in
            let clock = Int(NativeClock.value(of: slot * 2) >> 1) ^ (row.flags & 2 == 0 ? 0 : 1 << 26)
            return clock % Int(row.interval) == Int(row.parameters.offset)
        }
        let anchor = try #require((0..<Int(row.interval)).map { slot - $0 }.first(where: isAnchor))
        if (slot - anchor) / 2 < Int(row.attempt) { return true }
        return data.contains { $0.lowerBound >= anchor && $0.upperBound < slot && (slot - $0.upperBound + 1) / 2 <= Int(row.timeout) }
    }

    @Test(arguments: rows) func theEndsMeetAtAnchorPointsAndAsLongAsDataFlows(_ row: Row) throws {
        let bench = BasebandLinkBench(seed: 5)
        bench.join()
        try bench.run()
        let interval = NativeClock.slot * Int(row.interval)
        bench.applyToAll(.maximumSlots(5), .sniff(row.parameters))
        try bench.run(interval * 2)
        bench.watch()
        try bench.run(interval * 20)
        // Idle: one poll and its reply after each anchor point.
        let polls = bench.frames.filter { $0.packet.type == 1 }
        #expect((19...21).contains(polls.count) && bench.frames.count == polls.count * 2, "\(bench.frames.count) packets")
        #expect(zip(polls, polls.dropFirst()).allSatisfy { $1.start - $0.start == interval })
        for _ in 0..<3 { for end in bench.ends { for length in [20, 339, 600] { end.feed(length) } } }
        try bench.run(interval * 40)
        #expect(bench.central.received == bench.peripheral.sent && bench.peripheral.received == bench.central.sent)
        let slots = bench.frames.map { (packet: $0.packet, slot: bench.clock.tick(at: $0.start) / 2) }
        let data = slots.filter { $0.packet.type > 2 }.map { $0.slot...($0.slot + ([10: 2, 11: 2, 14: 4, 15: 4][$0.packet.type] ?? 0)) }
        for frame in slots where frame.slot % 2 == 0 {
            let isAllowed = try isOpen(frame.slot, row, data: data)
            #expect(isAllowed, "a packet of the central in slot \(frame.slot)")
        }
        bench.applyToAll(.sniff(nil))
        try bench.run(50_000)
        bench.frames.removeAll()
        try bench.run(NativeClock.slot * 400)
        #expect((9...11).contains(bench.frames.filter { $0.packet.type == 1 }.count))
        bench.close()
    }

    @Test func aSniffingLinkEndsWhenNothingIsHeard() throws {
        let bench = BasebandLinkBench()
        bench.watch()
        bench.join()
        try bench.run()
        bench.applyToAll(.supervisionTimeout(0x0500), .sniff(Row(interval: 200, attempt: 2, timeout: 1).parameters))
        try bench.run(NativeClock.slot * 2_000)
        #expect(bench.ends.allSatisfy { $0.endedAt == nil })
        let last = try #require(bench.frames.last { $0.packet.type == 0 })
        bench.peripheral.link.detach()
        try bench.run(NativeClock.slot * 0x0600)
        #expect(bench.central.log == ["established", "lost 8"])
        #expect(bench.central.endedAt.map { $0 - last.start } == NativeClock.slot * 0x0500)
        bench.close()
    }

    /// Lost packets are sent again at the next anchor points.
    @Test(arguments: 1...4 as ClosedRange<UInt64>) func everythingArrivesOnceOnAPoorAir(_ seed: UInt64) throws {
        let bench = BasebandLinkBench(seed: seed)
        bench.join()
        try bench.run()
        bench.applyToAll(.maximumSlots(5), .sniff(Row(interval: 60, attempt: 3, timeout: 2).parameters))
        bench.bench.air.propagation.setLoss(.init(corrupted: 0.15, unnoticed: 0.15), on: .init())
        for end in bench.ends { for length in [1, 27, 300, 672] { end.feed(length) } }
        try bench.run(8_000_000)
        #expect(bench.central.received == bench.peripheral.sent && bench.peripheral.received == bench.central.sent)
        bench.close()
    }
}
