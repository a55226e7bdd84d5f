import BBPackets
import BBTiming
import BBTransport
import BBVirtualDongle
import Foundation
import Testing

@testable import BBTransportUSB

/// Transfers and descriptors that no dongle should send. Ten million transfers of each speed with SOAK=1.
@Suite struct HostileDongleTests {
    private static let longest = 1_200

    /// The host's end of a bulk pipe, and what a packet may be made of.
    private struct Reader {
        var isSerialised = false
        private var legacy = PipeReassembly(.acl, longest: longest)
        private var framer: SerialisedFramer
        private let packetSize: Int
        /// Octets that were read and are part of no delivered packet, as far back as a packet can begin.
        private var window: [UInt8] = []
        private(set) var foreign = 0

        init(packetSize: Int) {
            self.packetSize = packetSize
            framer = SerialisedFramer(from: .controller, packetSize: packetSize, longest: longest)
        }

        var pendingCount: Int { framer.pendingCount }

        func octets(of packet: HCIPacket) -> [UInt8] { isSerialised ? packet.serialised : packet.bytes }

        mutating func change() {
            isSerialised.toggle()
            legacy.restart()
            framer.restart()
            window = []
        }

        /// Returns the packets that a transfer completes. Each has to stand in what was read, after the one before.
        mutating func read(_ transfer: [UInt8]) -> [HCIPacket] {
            var packets: [HCIPacket] = []
            transfer.withUnsafeBytes { octets in
                if isSerialised {
                    framer.append(octets) { packets.append($0) }
                } else {
                    legacy.append(octets, isShort: !octets.count.isMultiple(of: packetSize)) { packets.append($0) }
                }
            }
            window += transfer
            for packet in packets {
                let octets = octets(of: packet)
                let starts = 0...max(0, window.count - octets.count)
                guard let start = starts.first(where: { window[$0...].starts(with: octets) }) else {
                    foreign += 1
                    continue
                }
                window.removeFirst(start + octets.count)
            }
            window = window.suffix(HostileDongleTests.longest + transfer.count)
            return packets
        }
    }

    /// Only packets that stand in the transfers are delivered. After a change of the mode the stream is taken up again: each packet that comes
    /// before the next fault is delivered alone and as it was.
    @Test(arguments: [64, 512])
    func noTransferIsTakenForAnother(packetSize: Int) {
        let count = ProcessInfo.processInfo.environment["SOAK"] == "1" ? 10_000_000 : 10_000
        var random = RandomSource(seed: UInt64(packetSize), label: "hostile transfers")
        var reader = Reader(packetSize: packetSize)
        var (isSound, lost, switches, delivered, longestPending) = (true, 0, 0, 0, 0)
        for number in 0..<count {
            let length = Int(random.next() % 300)
            let header = [UInt8(number & 0xFF), UInt8(number >> 8 & 0x0F), UInt8(length & 0xFF), UInt8(length >> 8)]
            let packet = HCIPacket(.acl, header + random.octets(length))
            var transfer = reader.octets(of: packet)
            let action = random.next() % 64
            switch action {
            case 0, 1:
                reader.change()
                (isSound, switches) = (true, switches + 1)
                transfer = reader.octets(of: packet)
            case 2: transfer = random.octets(Int(random.next() % 700))
            case 3: transfer[0] ^= 0xFC
            case 4: transfer.removeLast(1 + Int(random.next() % UInt64(transfer.count)))
            case 5: transfer.insert(transfer[0], at: 0)
            case 6: transfer += transfer
            case 7: transfer[transfer.count - length - 1] = 0xFF
            default: break
            }
            if (2...7).contains(action) { isSound = false }
            let packets = reader.read(transfer)
            delivered += packets.count
            if isSound, packets != [packet] { lost += 1 }
            longestPending = max(longestPending, reader.pendingCount)
        }
        #expect((reader.foreign, lost) == (0, 0))
        #expect(delivered > count / 8 && switches > count / 64 && longestPending <= Self.longest + 1)
    }

    /// Any octets are descriptors of some shape or of none, and what is found has a text.
    @Test func damagedDescriptorsAreRead() throws {
        let sound = try [[], ["serialised-mode"], ["composite", "hci-interface=2"], ["high-speed", "extra-interfaces=3"]].map {
            try DongleConduct($0).describe(serialNumber: "1")
        }
        let count = ProcessInfo.processInfo.environment["SOAK"] == "1" ? 1_000_000 : 1_000
        var random = RandomSource(seed: 1, label: "hostile descriptors")
        var (shapes, silent) = (0, 0)
        for _ in 0..<count {
            let descriptors = sound[Int(random.next() % UInt64(sound.count))]
            var (device, configuration) = (descriptors.device, descriptors.configuration)
            for _ in 0...random.next() % 4 {
                let at = Int(random.next() % UInt64(configuration.count))
                switch random.next() % 5 {
                case 0: configuration.removeLast(min(at, configuration.count - 1))
                case 1: configuration.insert(UInt8(truncatingIfNeeded: random.next()), at: at)
                case 2: device[at % device.count] = UInt8(truncatingIfNeeded: random.next())
                case 3: configuration[at] = random.next() % 2 == 0 ? 0 : 0xFF
                default: configuration[at] = UInt8(truncatingIfNeeded: random.next())
                }
            }
            let shape = USBDescriptors.shape(device: device, configuration: configuration, isHighSpeed: random.next() % 2 == 0)
            guard let shape else { continue }
            shapes += 1
            if shape.line.isEmpty || shape.findings.contains(where: { $0.text.isEmpty || $0.section.isEmpty }) { silent += 1 }
        }
        #expect(shapes > count / 4 && silent == 0)
    }
}
