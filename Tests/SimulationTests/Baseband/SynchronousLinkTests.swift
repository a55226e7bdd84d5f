import BBCapture
import BBPackets
import BBTiming
import Testing

@testable import BBSimulation

/// SCO and eSCO transports on the air. Core Vol 2, Part B, 4.3, 4.4 and 8.6.
@Suite struct SynchronousLinkTests {
    struct Row: Sendable {
        var type: BREDRPacketType
        var interval: UInt8
        var window: UInt8 = 0
        var length: UInt16
        /// Packet type of the opposite direction, if different.
        var back: BREDRPacketType?
        var flags: UInt8 = 0

        var isExtended: Bool { ![.hv1, .hv2, .hv3].contains(type) }

        func parameters(_ role: LinkRole, offset: UInt8 = 2) -> SynchronousParameters {
            let types = role == .central ? (type, back ?? type) : (back ?? type, type)
            let lengths = types.0.capacity < Int(length) ? UInt16(types.0.capacity) : length
            let backLength = types.1.capacity < Int(length) ? UInt16(types.1.capacity) : length
            return SynchronousParameters(
                isExtended: isExtended, ltAddr: 5, flags: flags, offset: min(offset, interval - 2), interval: interval, window: window,
                transmitType: types.0, receiveType: types.1, transmitLength: lengths, receiveLength: backLength, airMode: 3)
        }
    }

    static let rows = [
        Row(type: .hv1, interval: 2, length: 10), Row(type: .hv2, interval: 4, length: 20),
        Row(type: .hv3, interval: 6, length: 30, flags: 2),
        Row(type: .ev3, interval: 6, window: 2, length: 30), Row(type: .ev4, interval: 16, window: 4, length: 120),
        Row(type: .ev5, interval: 14, length: 180), Row(type: .twoEV3, interval: 12, window: 4, length: 60),
        Row(type: .twoEV5, interval: 24, window: 8, length: 360), Row(type: .threeEV3, interval: 16, window: 4, length: 75),
        Row(type: .threeEV5, interval: 28, window: 8, length: 540, flags: 2),
        Row(type: .ev5, interval: 18, window: 6, length: 30, back: .ev3),
    ]

    private func start(_ row: Row, seed: UInt64 = 3) throws -> BasebandLinkBench {
        let bench = BasebandLinkBench(seed: seed)
        bench.join()
        try bench.run()
        bench.applyToAll(.maximumSlots(5))
        for end in bench.ends {
            end.link.apply(.synchronous(id: 1, row.parameters(end.link.role)))
            end.speak(1, length: Int(row.parameters(end.link.role).transmitLength))
        }
        return bench
    }

    /// Voice keeps its rate in its own slots, whatever data is sent concurrently.
    @Test(arguments: rows) func voiceHasItsSlots(_ row: Row) throws {
        let bench = try start(row)
        try bench.run(50_000)
        bench.watch()
        let before = bench.ends.map { $0.voice[1]?.count ?? 0 }
        for end in bench.ends { end.saturate(300) }
        try bench.run(NativeClock.slot * Int(row.interval) * 200)
        for (index, end) in bench.ends.enumerated() {
            let other = bench.ends[1 - index]
            let heard = Array((end.voice[1] ?? []).dropFirst(before[index]))
            // HV1 gives some of its slots to the link.
            let fewest = row.interval == 2 ? 180 : 198
            #expect((fewest...201).contains(heard.count(where: \.isCorrect)), "\(heard.count(where: \.isCorrect)) of \(heard.count)")
            #expect((199...201).contains(heard.count))
            let spoken = other.spoken[1] ?? []
            #expect(heard.filter(\.isCorrect).allSatisfy { spoken.contains($0.octets) })
        }
        let packets = bench.frames.filter { $0.transport == (row.isExtended ? .esco : .sco) }
        for packet in packets where bench.clock.tick(at: packet.start) & 2 == 0 {
            let clock = Int(NativeClock.value(of: bench.clock.tick(at: packet.start)) >> 1) ^ (row.flags & 2 == 0 ? 0 : 1 << 26)
            #expect(clock % Int(row.interval) == Int(row.parameters(.central).offset))
            #expect(packet.packet.ltAddr == (row.isExtended ? 5 : 1) && packet.packet.type == row.type.code)
        }
        // No packets of the piconet overlap.
        let ends = bench.frames.map { $0.start + $0.airTime }
        #expect(zip(ends, bench.frames.dropFirst()).allSatisfy { $0 <= $1.start })
        if row.interval > 2 { #expect(bench.ends.allSatisfy { $0.received.count > 1_000 }) }
        for end in bench.ends { #expect(bench.ends.contains { $0.sent.starts(with: end.received) }) }
        bench.close()
    }

    /// Lost packets are retransmitted in the window; permanent losses are reported.
    @Test(arguments: [UInt8(0), 6]) func theWindowRepairs(_ window: UInt8) throws {
        let bench = try start(Row(type: .twoEV3, interval: 12, window: window, length: 60))
        try bench.run(50_000)
        bench.bench.air.propagation.setLoss(.init(corrupted: 0.1, unnoticed: 0.1), on: .init())
        for end in bench.ends { end.voice[1] = [] }
        try bench.run(NativeClock.slot * 12 * 1_000)
        for end in bench.ends {
            let voice = end.voice[1] ?? []
            let correct = voice.count(where: \.isCorrect)
            #expect((998...1_002).contains(voice.count))
            #expect(window == 0 ? (700...860).contains(correct) : correct > 950, "\(correct)")
        }
        bench.close()
    }

    /// LMP messages are sent although HV1 leaves no slots; polls keep the link alive.
    @Test func theLinkManagerIsHeardBesideHV1() throws {
        let bench = try start(Row(type: .hv1, interval: 2, length: 10))
        bench.applyToAll(.supervisionTimeout(0x0190))
        for end in bench.ends { for number in 1...5 { end.link.send(lmp: [UInt8(number), 7]) } }
        try bench.run(2_000_000)
        #expect(bench.ends.allSatisfy { $0.lmp.count == 5 && $0.acknowledged.count == 5 && $0.endedAt == nil })
        for end in bench.ends { end.link.apply(.synchronous(id: 1, nil)) }
        for end in bench.ends { end.feed(300) }
        try bench.run()
        #expect(bench.central.received == bench.peripheral.sent && bench.peripheral.received == bench.central.sent)
        bench.close()
    }

    /// Three HV3 links fill all slots, two leave some; each gets a different offset.
    @Test func transportsShareTheSlots() throws {
        let bench = BasebandLinkBench(seed: 8)
        bench.join()
        try bench.run()
        var offsets: [UInt8] = []
        for id: UInt8 in 1...3 {
            let offset = try #require(bench.central.link.freeOffset(every: 6, slots: 2))
            offsets.append(offset)
            let flags: UInt8 = NativeClock.value(of: bench.clock.tick(at: bench.loop.now)) >> 27 == 1 ? 2 : 0
            for end in bench.ends {
                var parameters = Row(type: .hv3, interval: 6, length: 30, flags: flags).parameters(end.link.role)
                parameters.offset = offset
                end.link.apply(.synchronous(id: id, parameters))
                end.speak(id, length: 30)
            }
        }
        #expect(offsets == [0, 2, 4] && bench.central.link.freeOffset(every: 6, slots: 2) == nil)
        #expect(bench.central.link.freeOffset(every: 4, slots: 2) == nil)
        try bench.run(NativeClock.slot * 6 * 200)
        for end in bench.ends { for id: UInt8 in 1...3 { #expect((end.voice[id] ?? []).count(where: \.isCorrect) > 190) } }
        bench.close()
    }
}
