import BBPackets
import BBTiming
import Testing

@testable import BBSimulation

enum SampleEncryption {
    static let key: UInt128 = 0x0123_4567_89AB_CDEF_0011_2233_4455_6677
    static let e0: PayloadEncryption = .e0(key: key, central: BasebandLinkBench.address)
    static let ccm: PayloadEncryption = .aesCCM(key: key, iv: [1, 2, 3, 4, 5, 6, 7, 8])
    static let all: [PayloadEncryption] = [.off, e0, ccm]
}

/// Links over BR/EDR from their first POLL packet on. Core Vol 2, Part B, 2.2, 4, 6, 7 and 8.5.
@Suite struct BasebandLinkTests {
    // MARK: Slots

    @Test func aPollBeginsALinkAndComesAtLeastEachTPoll() throws {
        for interval: UInt16 in [6, 40, 4_096] {
            let bench = BasebandLinkBench(seed: UInt64(interval))
            bench.watch()
            bench.join()
            bench.applyToAll(.polling(interval: interval, broadcasts: 1))
            try bench.run(NativeClock.slot * (3 * Int(interval) + 20))
            #expect(bench.central.log == ["established"] && bench.peripheral.log == ["established"])
            let polls = bench.frames.filter { $0.packet.type == 1 }
            let answers = bench.frames.filter { $0.packet.type == 0 }
            #expect(polls.count >= 4 && answers.map(\.start) == polls.map { $0.start + 625 })
            #expect(zip(polls, polls.dropFirst()).allSatisfy { $1.start - $0.start == NativeClock.slot * Int(interval) })
            #expect(
                polls.allSatisfy {
                    bench.clock.tick(at: $0.start) & 3 == 0 && bench.clock.start(of: bench.clock.tick(at: $0.start)) == $0.start
                })
            #expect(bench.frames.allSatisfy { $0.packet.ltAddr == 1 && $0.packet.flow })
            bench.close()
        }
    }

    @Test func aLinkThatNobodyJoinsFailsAfter32Slots() throws {
        let bench = BasebandLinkBench()
        bench.watch()
        let central = bench.join(isWhole: false).central
        try bench.run(30_000)
        #expect(central.log == ["failed"] && bench.frames.count == 16)
        #expect(central.endedAt.map { $0 - bench.frames[0].start } == NativeClock.slot * 32)
    }

    @Test(arguments: [UInt16(0x0190), 0x0500, 0x7D00, 0]) func aLinkEndsWhenNothingIsHeard(_ timeout: UInt16) throws {
        let bench = BasebandLinkBench()
        bench.watch()
        bench.join()
        bench.applyToAll(.supervisionTimeout(timeout))
        try bench.run(NativeClock.slot * 0x7E00)
        #expect(bench.central.endedAt == nil)
        let last = try #require(bench.frames.last { $0.packet.type == 0 })
        bench.peripheral.link.detach()
        try bench.run(NativeClock.slot * 0x7E00)
        #expect(bench.central.log == (timeout == 0 ? ["established"] : ["established", "lost 8"]))
        #expect(bench.peripheral.log == ["established"])
        if timeout > 0 { #expect(bench.central.endedAt.map { $0 - last.start } == NativeClock.slot * Int(timeout)) }
        bench.close()
    }

    // MARK: Goodput

    struct Flow: Sendable {
        var types: Set<BREDRPacketType>
        var table = PacketTypeTable.basic
        var slots: UInt8 = 5
        var sdu: Int
        /// kbit/s: unencrypted or E0, AES-CCM, unencrypted in both directions.
        var plain: Double
        var authenticated: Double
        var both: Double
    }

    /// SDUs that fill one packet, and SDUs of common lengths in packets of a family: closed forms of slots.
    static let flows = [
        Flow(types: [.dm1], sdu: 13, plain: 83.2, authenticated: 41.6, both: 83.2),
        Flow(types: [.dh1], sdu: 23, plain: 147.2, authenticated: 73.6, both: 147.2),
        Flow(types: [.dm1, .dm3], sdu: 117, plain: 374.4, authenticated: 249.6, both: 249.6),
        Flow(types: [.dh1, .dh3], sdu: 179, plain: 572.8, authenticated: 381.866, both: 381.866),
        Flow(types: [.dm1, .dm3, .dm5], sdu: 220, plain: 469.333, authenticated: 352, both: 281.6),
        Flow(types: [.dh1, .dh3, .dh5], sdu: 335, plain: 714.666, authenticated: 536, both: 428.8),
        Flow(types: [.twoDH1], table: .enhanced, sdu: 50, plain: 320, authenticated: 160, both: 320),
        Flow(types: [.twoDH1, .twoDH3], table: .enhanced, sdu: 363, plain: 1_161.6, authenticated: 774.4, both: 774.4),
        Flow(types: [.twoDH1, .twoDH3, .twoDH5], table: .enhanced, sdu: 675, plain: 1_440, authenticated: 1_080, both: 864),
        Flow(types: [.threeDH1], table: .enhanced, sdu: 79, plain: 505.6, authenticated: 252.8, both: 505.6),
        Flow(types: [.threeDH1, .threeDH3], table: .enhanced, sdu: 548, plain: 1_753.6, authenticated: 1_169.066, both: 1_169.066),
        Flow(
            types: [.threeDH1, .threeDH3, .threeDH5], table: .enhanced, sdu: 1_017, plain: 2_169.6, authenticated: 1_627.2, both: 1_301.76),
        Flow(types: PacketChoice.all, sdu: 672, plain: 716.8, authenticated: 614.4, both: 430.08),
        Flow(types: PacketChoice.all, table: .enhanced, slots: 3, sdu: 1_000, plain: 1_600, authenticated: 1_600, both: 1_066.666),
    ]

    private func goodput(_ flow: Flow, from senders: [Int], _ encryption: PayloadEncryption) throws -> Double {
        let bench = BasebandLinkBench(seed: 7)
        bench.join()
        bench.applyToAll(.packetTypes(flow.types), .packetTypeTable(flow.table), .maximumSlots(flow.slots))
        try bench.run()
        bench.encrypt(encryption)
        for sender in senders { bench.ends[sender].saturate(flow.sdu + 4) }
        try bench.run(200_000)
        let before = bench.ends.map(\.received.count)
        try bench.run(1_500_000)
        let carried = zip(bench.ends, before).map { $0.received.count - $1 }.max() ?? 0
        for (end, other) in [(0, 1), (1, 0)] { #expect(bench.ends[other].sent.starts(with: bench.ends[end].received)) }
        bench.close()
        return Double(carried * flow.sdu * 8) / Double(flow.sdu + 4) / 1_500
    }

    @Test(arguments: flows) func goodputIsWhatTheSlotsLetThrough(_ flow: Flow) throws {
        let rows: [(senders: [Int], encryption: PayloadEncryption, expected: Double)] = [
            ([0], .off, flow.plain), ([1], .off, flow.plain), ([0, 1], .off, flow.both), ([0], SampleEncryption.ccm, flow.authenticated),
            ([1], SampleEncryption.e0, flow.plain),
        ]
        for row in rows where !(row.encryption == SampleEncryption.e0 && flow.sdu > 400) {
            let measured = try goodput(flow, from: row.senders, row.encryption)
            #expect(abs(measured / row.expected - 1) < 0.005, "\(measured) instead of \(row.expected), from \(row.senders)")
        }
    }

    // MARK: Acknowledgement

    /// No data is lost, duplicated or reordered, whatever the loss.
    @Test(arguments: 1...6 as ClosedRange<UInt64>, SampleEncryption.all) func everythingArrivesOnceOnAPoorAir(
        _ seed: UInt64, _ encryption: PayloadEncryption
    ) throws {
        let bench = BasebandLinkBench(seed: seed)
        bench.join()
        bench.applyToAll(.maximumSlots([1, 3, 5][Int(seed % 3)]), .packetTypeTable(seed % 2 == 0 ? .basic : .enhanced))
        try bench.run()
        bench.encrypt(encryption)
        bench.bench.air.propagation.setLoss(.init(corrupted: 0.15, unnoticed: 0.15), on: .init())
        for end in bench.ends { for length in [1, 27, 28, 300, 672, 1_021, 3, 90] { end.feed(length) } }
        try bench.run(4_000_000)
        for (end, other) in [(bench.central, bench.peripheral), (bench.peripheral, bench.central)] {
            #expect(end.received == other.sent && other.completed == 8)
        }
        #expect(bench.ends.allSatisfy { $0.link.isAtRest })
        bench.close()
    }

    /// SEQN starts with 1 and alternates; a retransmission has the same SEQN.
    @Test func sequenceNumbersAlternate() throws {
        let bench = BasebandLinkBench()
        bench.join()
        try bench.run()
        bench.watch()
        for _ in 0..<6 { bench.central.feed(20) }
        try bench.run()
        let data = bench.frames.filter { $0.packet.type == 4 }
        #expect(data.map(\.packet.seqn) == [true, false, true, false, true, false])
        #expect(bench.frames.filter { $0.packet.type == 0 }.prefix(6).allSatisfy { $0.packet.arqn })
        #expect(zip(data, data.dropFirst()).allSatisfy { $1.start - $0.start == 1_250 })
        bench.close()
    }

    @Test func messagesOfTheLinkManagerGoFirstAndInDM1() throws {
        let bench = BasebandLinkBench()
        bench.join()
        try bench.run()
        bench.watch()
        for _ in 0..<3 { bench.peripheral.feed(100) }
        bench.peripheral.link.send(lmp: [0x4B, 1, 2, 3, 4, 5])
        bench.peripheral.link.send(lmp: [UInt8](repeating: 7, count: 17))
        try bench.run()
        #expect(bench.central.order == "ll" + String(repeating: "d", count: 12))
        #expect(bench.central.lmp == bench.peripheral.acknowledged && bench.central.lmp.map(\.count) == [6, 17])
        #expect(bench.frames.filter { $0.packet.type == 3 }.map(\.octets) == [1 + 6 + 2, 1 + 17 + 2])
        bench.peripheral.link.apply(.holdsData(true))
        bench.peripheral.feed(10)
        bench.peripheral.link.send(lmp: [9])
        try bench.run()
        #expect(bench.central.lmp.count == 3 && bench.central.received.count == 300)
        bench.peripheral.link.apply(.holdsData(false))
        try bench.run()
        #expect(bench.central.received == bench.peripheral.sent)
        bench.close()
    }

    // MARK: Encryption

    @Test func anotherKeyLetsNothingThrough() throws {
        let other: UInt128 = key(1)
        for (encryption, log) in [
            (PayloadEncryption.e0(key: other, central: BasebandLinkBench.address), ["established"]),
            (.aesCCM(key: other, iv: [1, 2, 3, 4, 5, 6, 7, 8]), ["established", "refresh", "lost 61"]), (.off, ["established"]),
        ] {
            let bench = BasebandLinkBench()
            bench.join()
            try bench.run()
            let own = log.count == 3 ? SampleEncryption.ccm : SampleEncryption.e0
            bench.central.link.apply(.encryption(own, direction: .transmit))
            bench.peripheral.link.apply(.encryption(encryption, direction: .receive))
            bench.central.feed(20)
            try bench.run()
            #expect(bench.peripheral.received.isEmpty && bench.peripheral.log == log)
            bench.close()
        }
    }

    /// A packet whose MIC is wrong is not acknowledged and is received when it is sent again. A right one in between restarts the count.
    @Test(arguments: [[1], [3], [2, 2, 3], [4]]) func aWrongMICIsAnsweredLikeAWrongCRC(_ bursts: [Int]) throws {
        let bench = BasebandLinkBench()
        bench.join()
        try bench.run()
        bench.encrypt(SampleEncryption.ccm)
        var (sender, receiver) = (bench.central.link.state, bench.peripheral.link.state)
        bench.close()
        for (index, burst) in bursts.enumerated() {
            sender.exchange.append([UInt8(index), 2, 3], isStart: true)
            for count in 1...(burst + 1) {
                var packet = sender.packet(in: 4, slots: 1)
                let isForged = count <= burst
                if isForged { packet.payload[packet.payload.count - 1] ^= 1 }
                let taken = receiver.take(BREDRReception(packet: packet, start: 2_500, rssi: -50, isIntact: true))
                #expect(taken.micFailures == (isForged ? count : 0))
                #expect(taken.payload.map { Array($0.data) } == (isForged ? nil : [UInt8(index), 2, 3]))
                let answer = receiver.packet(in: 6, slots: 1)
                #expect(answer.arqn == !isForged)
                _ = sender.take(BREDRReception(packet: answer, start: 3_750, rssi: -50, isIntact: true))
            }
            #expect(sender.exchange.isEmpty)
        }
    }

    private func key(_ change: UInt128) -> UInt128 { SampleEncryption.key ^ change }

    // MARK: Hopping

    @Test func anAdaptedSequenceBeginsAtItsInstant() throws {
        let bench = BasebandLinkBench(seed: 3)
        bench.join()
        bench.applyToAll(.maximumSlots(5))
        try bench.run()
        bench.watch()
        let map = try #require(AdaptedChannelMap(0x7FFF_FFFF_FFC0_0000_0000))
        for end in bench.ends { end.saturate(300) }
        let instant = (bench.central.link.slot + 200) & ~1
        bench.applyToAll(.channelMap(map, instant: instant))
        try bench.run(500_000)
        #expect(bench.ends.allSatisfy { $0.log == ["established", "made true"] })
        let start = bench.clock.start(of: (bench.clock.tick(at: bench.loop.now) & ~0xFFF_FFFF) + Int(instant) * 2)
        let (before, after) = (bench.frames.filter { $0.start < start }, bench.frames.filter { $0.start >= start })
        #expect(before.contains { !map.contains($0.channel) } && after.allSatisfy { map.contains($0.channel) } && after.count > 100)
        // The peripheral replies on the central's channel.
        let central = after.filter { bench.clock.tick(at: $0.start) & 2 == 0 }
        #expect(zip(central, after.filter { bench.clock.tick(at: $0.start) & 2 != 0 }).allSatisfy { $0.channel == $1.channel })
        #expect(Set(central.map(\.channel)).count > 30)
        bench.close()
    }

    // MARK: Roles

    /// The new central sends its clock in its former slots; data then continues in the new piconet in both directions, from SEQN 1 on.
    @Test(arguments: 1...4 as ClosedRange<UInt64>, [0.0, 0.2]) func theRolesAreSwitchedAtTheInstant(_ seed: UInt64, _ loss: Double) throws {
        let bench = BasebandLinkBench(seed: seed)
        bench.join()
        try bench.run()
        bench.bench.air.propagation.setLoss(.init(corrupted: loss / 2, unnoticed: loss / 2), on: .init())
        for _ in 0..<5 {
            let before = bench.ends.map(\.link.role)
            let logged = bench.central.log.count
            let instant = (bench.central.link.slot + 80) & ~1
            bench.applyToAll(.holdsData(true), .roleSwitch(instant: instant, slotOffset: nil))
            try bench.run(120_000)
            let words = bench.ends.map { $0.log.dropFirst(logged).joined(separator: " ") }
            #expect(words[0] == words[1] && (words[0] == "made true" || (loss > 0 && words[0] == "made false")), "\(words)")
            #expect(bench.ends.map(\.link.role) == (words[0] == "made true" ? before.reversed() : before))
            bench.applyToAll(.holdsData(false))
            for end in bench.ends { for length in [20, 300] { end.feed(length) } }
            try bench.run(300_000)
            #expect(bench.central.received == bench.peripheral.sent && bench.peripheral.received == bench.central.sent)
        }
        bench.close()
    }

    /// The FHS packet gives the new central's clock in units of 1,250 us; the new peripheral finds its slots wherever they are in the old
    /// ones. Core Vol 2, Part B, 8.6.5.
    @Test func theRolesAreSwitchedAtAnyPhaseOfTheClocks() throws {
        var missed: [Int] = []
        for phase in 0..<1_250 {
            let bench = BasebandLinkBench(phase: Microseconds(Int64(phase)))
            bench.join()
            try bench.run()
            let instant = (bench.central.link.slot + 80) & ~1
            bench.applyToAll(.holdsData(true), .roleSwitch(instant: instant, slotOffset: nil))
            try bench.run(120_000)
            if bench.ends.map(\.link.role) != [.peripheral, .central] { missed.append(phase) }
            bench.close()
        }
        #expect(missed.isEmpty)
    }

    @Test func aSwitchThatNobodyFollowsIsTakenBack() throws {
        let bench = BasebandLinkBench()
        bench.join()
        try bench.run()
        bench.watch()
        let instant = (bench.central.link.slot + 80) & ~1
        bench.peripheral.link.apply(.roleSwitch(instant: instant, slotOffset: nil))
        try bench.run(200_000)
        #expect(bench.peripheral.log == ["established", "made false"] && bench.ends.map(\.link.role) == [.central, .peripheral])
        let handovers = bench.frames.filter { $0.packet.type == 2 }
        #expect(handovers.count == 16 && handovers.allSatisfy { bench.clock.tick(at: $0.start) & 3 == 2 })
        bench.central.feed(30)
        try bench.run()
        #expect(bench.peripheral.received == bench.central.sent)
        bench.close()
    }

    // MARK: Several links

    @Test func aCentralServesSevenPeripherals() throws {
        let bench = BasebandLinkBench(seed: 9)
        let pairs = (1...7).map { bench.join(ltAddr: $0) }
        bench.applyToAll(.maximumSlots(5))
        try bench.run()
        #expect(bench.ends.allSatisfy { $0.log == ["established"] })
        for pair in pairs { pair.central.saturate(335 + 4) }
        try bench.run(1_000_000)
        let shares = pairs.map(\.peripheral.received.count)
        let all = Double(shares.reduce(0, +) * 8) / 1_000
        #expect(all > 700 && shares.allSatisfy { $0 > 9_000 }, "\(shares)")
        for pair in pairs { #expect(pair.central.sent.starts(with: pair.peripheral.received)) }
        bench.close()
    }
}
