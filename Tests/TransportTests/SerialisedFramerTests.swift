import BBPackets
import BBTiming
import BBTransport
import Foundation
import Testing

/// Core Vol 4, Part B, 2.1.1 and 7.
@Suite struct SerialisedFramerTests {
    private static let event = HCIPacket(.event, [0x0E, 4, 1, 3, 12, 0])
    private static let data = HCIPacket(.acl, [0x40, 0x20, 3, 0, 1, 2, 3])
    private static let voice = HCIPacket(.sco, [0x41, 0x00, 2, 5, 6])
    private static let stream = HCIPacket(.iso, [0x42, 0x20, 5, 0x40, 1, 0, 2, 0, 9])
    private static let command = HCIPacket(.command, [3, 12, 0])
    /// With its indicator it fills a USB packet of 64 octets.
    private static let full = HCIPacket(.acl, [0x40, 0x20, 59, 0] + [UInt8](repeating: 4, count: 59))
    private static let long = HCIPacket(.acl, [0x40, 0x20, 200, 0] + (0..<200).map { UInt8($0) })

    struct Row: Sendable, CustomStringConvertible {
        var description: String
        var reads: [[UInt8]]
        var packets: [HCIPacket]
        var faults: [SerialisedFramer.Fault.Cause] = []
        var joined = 0
        var split = 0
        var sender = SerialisedFramer.Sender.controller
        var capacity = 1_088
    }

    private static let pieces = [Array(long.serialised[..<64]), Array(long.serialised[64..<192]), Array(long.serialised[192...])]

    static let rows: [Row] = [
        Row(
            description: "one each", reads: [event, data, voice, stream].map(\.serialised), packets: [event, data, voice, stream]),
        Row(
            description: "from a host", reads: [command, data, voice, stream].map(\.serialised), packets: [command, data, voice, stream],
            sender: .host),
        Row(description: "a zero-length packet after a full one", reads: [full.serialised, [], event.serialised], packets: [full, event]),
        Row(description: "no zero-length packet", reads: [full.serialised, full.serialised], packets: [full, full]),
        Row(description: "pieces that end with a full USB packet", reads: pieces, packets: [long], split: 1),
        Row(
            description: "three in one", reads: [event.serialised + data.serialised + voice.serialised], packets: [event, data, voice],
            joined: 2),
        // A read that a full USB packet does not end goes on with the next packet.
        Row(description: "the next packet after a full USB packet", reads: [full.serialised + event.serialised], packets: [full, event]),
        Row(
            description: "a packet longer than a read", reads: [Array(long.serialised[..<128]), Array(long.serialised[128...])],
            packets: [long], capacity: 128),
        Row(
            description: "the end of one and the start of the next",
            reads: [pieces[0], pieces[1] + [], pieces[2] + event.serialised], packets: [long, event], joined: 1, split: 1),
        Row(
            description: "a packet without indicator", reads: [[0xFF, 1, 2], data.serialised], packets: [data],
            faults: [.unknownIndicator(0xFF)]),
        Row(
            description: "a command from a controller", reads: [command.serialised, event.serialised], packets: [event],
            faults: [
                .wrongDirection(.command)
            ]),
        Row(
            description: "an event from a host", reads: [event.serialised, command.serialised], packets: [command],
            faults: [
                .wrongDirection(.event)
            ], sender: .host),
        Row(
            description: "garbage behind a packet", reads: [event.serialised + [0, 0], data.serialised], packets: [event, data],
            faults: [.unknownIndicator(0)]),
        Row(
            description: "a packet without its last octet", reads: [Array(data.serialised.dropLast()), event.serialised],
            packets: [event], faults: [.cut(.acl, missing: 1)]),
        Row(
            description: "an indicator on its own", reads: [[4], event.serialised], packets: [event], faults: [.cut(.event, missing: nil)]),
        Row(
            description: "a zero-length packet within a packet", reads: [pieces[0], [], event.serialised], packets: [event],
            faults: [.cut(.acl, missing: 141)]),
        Row(
            description: "a doubled indicator", reads: [[4] + event.serialised, event.serialised], packets: [event],
            faults: [.cut(.event, missing: 9)]),
        Row(
            description: "a faulty transfer that goes on",
            reads: [[0] + [UInt8](repeating: 4, count: 63), event.serialised, data.serialised],
            packets: [data], faults: [.unknownIndicator(0)], capacity: 64),
    ]

    @Test(arguments: rows)
    func transfersGivePackets(row: Row) {
        var framer = SerialisedFramer(from: row.sender, packetSize: 64)
        var packets: [HCIPacket] = []
        var faults: [SerialisedFramer.Fault.Cause] = []
        for read in row.reads {
            var next = framer
            read.withUnsafeBytes { next.append($0, capacity: row.capacity) { packets.append($0) } }
            if next.faults > framer.faults, let first = next.firstFault { faults.append(first.cause) }
            framer = next
        }
        #expect(packets == row.packets)
        #expect(faults == row.faults)
        #expect((framer.joined, framer.split) == (row.joined, row.split))
        #expect(framer.pendingCount == 0)
    }

    /// All 256 indicators, from both ends.
    @Test(arguments: [SerialisedFramer.Sender.host, .controller])
    func reservedIndicatorsAreFaults(sender: SerialisedFramer.Sender) {
        for indicator in UInt8.min...UInt8.max {
            var framer = SerialisedFramer(from: sender, packetSize: 64)
            var packets: [HCIPacket] = []
            let octets: [UInt8] = [indicator] + [UInt8](repeating: 0, count: 5)
            octets.withUnsafeBytes { framer.append($0) { packets.append($0) } }
            let isKnown = HCIPacket.Kind(rawValue: indicator).map { $0 != (sender == .host ? .event : .command) } ?? false
            #expect(packets.isEmpty != isKnown)
            if !isKnown { #expect(framer.firstFault?.octets == octets) }
        }
    }

    @Test func manyFaultsInSuccessionAreALossAndAPacketEndsThem() {
        var framer = SerialisedFramer(from: .controller, packetSize: 64)
        func feed(_ octets: [UInt8]) { octets.withUnsafeBytes { framer.append($0) { _ in } } }
        for _ in 1..<SerialisedFramer.mostConsecutiveFaults { feed([0]) }
        #expect(!framer.isLost)
        feed(Self.event.serialised)
        feed([0])
        #expect(framer.consecutiveFaults == 1)
        for _ in 1..<SerialisedFramer.mostConsecutiveFaults { feed([0]) }
        #expect(framer.isLost)
        framer.restart()
        #expect(!framer.isLost)
    }

    @Test func aPacketLongerThanAllowedIsNotGathered() {
        var framer = SerialisedFramer(from: .controller, packetSize: 64, longest: 100)
        Self.long.serialised.withUnsafeBytes { framer.append($0) { _ in } }
        #expect(framer.firstFault?.cause == .tooLong(.acl, length: 204))
        #expect(framer.pendingCount == 0)
    }

    /// Random packets and faults: only packets that were sent are delivered, and those of whole transfers all are. Ten million transfers with
    /// SOAK=1.
    @Test(arguments: [64, 512])
    func noPacketIsTakenForAnother(packetSize: Int) {
        let count = ProcessInfo.processInfo.environment["SOAK"] == "1" ? 10_000_000 : 20_000
        var random = RandomSource(seed: UInt64(packetSize), label: "serialised transfers")
        var framer = SerialisedFramer(from: .controller, packetSize: packetSize)
        var (faults, lost, foreign) = (0, 0, 0)
        for number in 0..<count {
            let length = Int(random.next() % 300)
            let header = [UInt8(number & 0xFF), UInt8(number >> 8 & 0x0F), UInt8(length & 0xFF), UInt8(length >> 8)]
            let packet = HCIPacket(.acl, header + random.octets(length))
            var (transfer, isWhole) = (packet.serialised, false)
            switch random.next() % 8 {
            case 0: transfer[0] = UInt8(truncatingIfNeeded: 6 + random.next() % 200)
            case 1:
                transfer.removeLast(1 + Int(random.next() % UInt64(transfer.count)))
                // Such a cut cannot be told from a packet in several transfers.
                if transfer.count.isMultiple(of: packetSize) { transfer = [] }
            default: isWhole = true
            }
            if !isWhole, !transfer.isEmpty { faults += 1 }
            var delivered = 0
            transfer.withUnsafeBytes {
                framer.append($0) {
                    delivered += 1
                    if !isWhole || $0 != packet { foreign += 1 }
                }
            }
            if isWhole, delivered != 1 { lost += 1 }
        }
        #expect((lost, foreign) == (0, 0))
        #expect(framer.faults == faults && framer.pendingCount == 0)
    }
}
