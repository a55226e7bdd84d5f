import BBBenchTesting
import BBPackets
import BBTiming
import BBTransport

/// Records the packets of a pipe.
final class Gathering: HCITransportSink {
    var packets: [HCIPacket] = []
    var times: [Microseconds] = []
    var reasons: [TransportError] = []
    var onPacket: ((HCIPacket) -> Void)?
    var onClose: (() -> Void)?
    private let changed: ConditionVariable?

    /// - Parameter changed: signalled on each packet.
    init(_ changed: ConditionVariable? = nil) { self.changed = changed }

    func received(_ packet: HCIPacket, at time: Microseconds) {
        packets.append(packet)
        times.append(time)
        onPacket?(packet)
        changed?.signal()
    }

    func closed(_ reason: TransportError) {
        reasons.append(reason)
        onClose?()
        changed?.signal()
    }
}

extension H4Framer {
    /// The packets completed by a piece of the stream.
    mutating func packets(of piece: [UInt8]) throws(Failure) -> [HCIPacket] {
        var packets: [HCIPacket] = []
        let failure: Failure? = piece.withUnsafeBytes { octets in
            var rest = octets
            do throws(Failure) {
                while let packet = try next(of: &rest) { packets.append(packet) }
                return nil
            } catch {
                return error
            }
        }
        if let failure { throw failure }
        return packets
    }
}

/// A stream with all kinds of packets, including empty and long ones.
let sampleStream: [HCIPacket] = [
    HCIPacket(.command, [0x03, 0x0C, 0x00]),
    HCIPacket(.event, [0x0E, 0x04, 0x01, 0x03, 0x0C, 0x00]),
    HCIPacket(.acl, [0x40, 0x20, 0x05, 0x01] + [UInt8](repeating: 0xA5, count: 0x105)),
    HCIPacket(.sco, [0x41, 0x00, 0x02, 7, 7]),
    HCIPacket(.iso, [0x42, 0x20, 0x04, 0x40, 1, 2, 3, 4]),
    HCIPacket(.acl, [0x40, 0x20, 0x00, 0x00]),
    HCIPacket(.event, [0xFF, 0xFF] + [UInt8](0...254)),
]
