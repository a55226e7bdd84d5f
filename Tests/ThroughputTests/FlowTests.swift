import BBPackets
import BBTraffic
import Testing

@testable import BBThroughput

@Suite struct FlowTests {
    @Test func checksumOfTheCommonSample() {
        #expect(Array("123456789".utf8).withUnsafeBytes { CRC32.checksum($0) } == 0xCBF4_3926)
        #expect(CRC32.checksum(UnsafeRawBufferPointer(start: nil, count: 0)) == 0)
    }

    @Test func layoutIsTheDocumentedOne() {
        let packet = FlowPacket.make(sequence: 258, count: 12)
        #expect(Array(packet.prefix(8)) == [0x02, 0x01, 0x00, 0x00, 0x06, 0x07, 0x08, 0x09])
        #expect(FlowPacket.sequence(of: packet.span.bytes) == 258)
        #expect(FlowPacket.make(sequence: 0, count: 1).count == 8)
        for index in packet.indices {
            var spoilt = packet
            spoilt[index] ^= 0x10
            #expect(FlowPacket.sequence(of: spoilt.span.bytes) == nil)
        }
        #expect(FlowPacket.sequence(of: Array(packet.prefix(7)).span.bytes) == nil)
    }

    struct Arrival: Sendable, CustomTestStringConvertible {
        var sequences: [UInt32]
        var sent: UInt32
        /// Lost, duplicated, reordered.
        var expected: [Int]
        var testDescription: String { "\(sequences) of \(sent)" }
    }

    @Test(arguments: [
        Arrival(sequences: [0, 1, 2, 3], sent: 4, expected: [0, 0, 0]),
        Arrival(sequences: [0, 2, 3], sent: 4, expected: [1, 0, 0]),
        Arrival(sequences: [0, 1, 1, 2], sent: 3, expected: [0, 1, 0]),
        Arrival(sequences: [0, 2, 1, 3], sent: 4, expected: [0, 0, 1]),
        Arrival(sequences: [0, 3, 1], sent: 4, expected: [1, 0, 1]),
        Arrival(sequences: [0, 1], sent: 5, expected: [3, 0, 0]),
        Arrival(sequences: [1, 0, 0], sent: 2, expected: [0, 1, 1]),
    ])
    func tally(_ arrival: Arrival) {
        var tally = FlowTally()
        for sequence in arrival.sequences { tally.add(FlowPacket.make(sequence: sequence, count: 20).span.bytes) }
        tally.close(sent: arrival.sent)
        #expect([tally.lost, tally.duplicated, tally.reordered] == arrival.expected)
        #expect(tally.isClean == (arrival.expected == [0, 0, 0]))
        #expect(tally.octets == Set(arrival.sequences).count * 20)
    }

    @Test func corruptionIsCountedAndTheNumberCountsAsLost() {
        var tally = FlowTally()
        var packet = FlowPacket.make(sequence: 0, count: 20)
        packet[9] ^= 1
        let isNew = tally.add(packet.span.bytes)
        #expect(!isNew)
        tally.add(FlowPacket.make(sequence: 1, count: 20).span.bytes)
        #expect((tally.corrupted, tally.lost, tally.octets) == (1, 1, 20))
    }

    @Test func commandsAndCounters() throws {
        let commands = [
            ThroughputService.Command.start(length: 244, count: 70_000), .stop, .reset, .startChannels(length: 1_974, count: 3),
        ]
        for command in commands {
            #expect(try ThroughputService.Command(octets: command.octets) == command)
        }
        #expect(throws: ThroughputService.Refusal.wrongLength) { try ThroughputService.Command(octets: []) }
        #expect(throws: ThroughputService.Refusal.wrongLength) { try ThroughputService.Command(octets: [1, 2]) }
        #expect(throws: ThroughputService.Refusal.wrongLength) { try ThroughputService.Command(octets: [4]) }
        #expect(throws: ThroughputService.Refusal.unknownOpcode) { try ThroughputService.Command(octets: [9]) }
        var tally = FlowTally()
        tally.add(FlowPacket.make(sequence: 0, count: 20).span.bytes)
        let counters = ThroughputService.Counters(sent: 7, tally)
        #expect(ThroughputService.Counters(octets: counters.octetString) == counters)
        #expect(ThroughputService.Counters(octets: [1, 2, 3]) == nil)
        #expect(ThroughputService.service.description == "B1BE0200-7E57-4ACC-9D3A-0B5E55ED0001")
    }

    @Test func sweepsAreEveryCombinationAndCheckTheirValues() throws {
        var plan = SweepPlan()
        plan.over = [.notify, .write]
        plan.phys = LinkPHY.allCases
        plan.mtus = [23, 247]
        #expect(plan.rows.count == 16)
        #expect(plan.rows.allSatisfy { ($0.over == .notify) == ($0.direction == .fromSubject) })
        try plan.check()
        plan.mtus = [22]
        #expect(throws: SweepError.self) { try plan.check() }
        plan.mtus = [23]
        plan.intervals = [7_400]
        #expect(throws: SweepError.self) { try plan.check() }
    }
}
