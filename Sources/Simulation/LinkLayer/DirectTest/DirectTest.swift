import BBPackets
import BBTiming

/// Direct Test Mode: transmits test packets continuously, or counts received ones. Core Vol 6, Part F.
final class DirectTest: RadioActivity {
    enum Mode {
        /// - Parameters:
        ///   - length: payload octets.
        ///   - pattern: Packet_Payload of LE_Transmitter_Test.
        case transmitter(phy: AirPHY, length: UInt8, pattern: UInt8)
        case receiver(PHY)
    }

    /// Access address of test packets. Core Vol 6, Part F, 4.1.1.
    private static let syncWord: UInt32 = 0x7176_4129

    let mode: Mode
    private let radio: Radio
    private let tuning: Tuning
    private let pdu: AirPDU
    private let crcOctets: Int
    private var nextStart: Microseconds
    /// Number of packets received intact.
    private(set) var received: UInt16 = 0

    var priority: Int { 1_000 }

    /// - Parameter channel: N for 2402 MHz + N x 2 MHz.
    init(_ mode: Mode, channel: UInt8, radio: Radio, quirks: ControllerQuirks) {
        self.mode = mode
        self.radio = radio
        crcOctets = quirks.crcOctets
        nextStart = radio.air.loop.now
        let index = (0..<UInt8(ChannelIndex.count)).map { ChannelIndex($0) }.first { $0.physicalChannel == channel } ?? 37
        switch mode {
        case .transmitter(let phy, let length, let pattern):
            tuning = Tuning(channel: index, phy: phy.phy, accessAddress: Self.syncWord)
            pdu = AirPDU(header: pattern & 0x0F, Self.payload(pattern, Int(length)))
        case .receiver(let phy):
            tuning = Tuning(channel: index, phy: phy, accessAddress: Self.syncWord)
            pdu = AirPDU(header: 0)
        }
    }

    /// Returns false if the radio is in use.
    func start() -> Bool {
        guard radio.acquire(self) else { return false }
        go()
        return true
    }

    deinit { radio.leave(ObjectIdentifier(self)) }

    func stop() { radio.forget(self) }

    private func go() {
        switch mode {
        case .transmitter(let phy, let length, _):
            radio.transmit(LEPacket(pdu, tuning, phy: phy, crcOctets: crcOctets), at: nextStart)
            nextStart = nextStart + Self.interval(phy.airTime(payload: Int(length)))
        case .receiver: radio.listen(tuning, from: radio.air.loop.now, until: .never)
        }
    }

    /// Interval between test packets. Core Vol 6, Part F, 4.1.6.
    private static func interval(_ length: Microseconds) -> Microseconds {
        Microseconds((length.rawValue + 249 + 624) / 625 * 625)
    }

    func transmitted(at end: Microseconds) { go() }

    func received(_ reception: Reception) {
        if reception.isIntact { received &+= 1 }
        go()
    }

    func windowClosed() {}
    func preempted() {}

    // MARK: Payloads

    /// Test payloads; the least significant bit is sent first. Core Vol 6, Part F, 4.1.5.
    private static func payload(_ pattern: UInt8, _ count: Int) -> [UInt8] {
        switch pattern {
        case 0: return pseudoRandom(bits: 9, tap: 5, count)
        case 3: return pseudoRandom(bits: 15, tap: 14, count)
        default:
            let octets: [UInt8] = [0, 0x0F, 0x55, 0, 0xFF, 0x00, 0xF0, 0xAA]
            return [UInt8](repeating: octets[Int(pattern & 7)], count: count)
        }
    }

    /// Shift register with feedback from its last stage and stage `tap`, seeded with all ones.
    private static func pseudoRandom(bits: Int, tap: Int, _ count: Int) -> [UInt8] {
        var register: UInt32 = (1 << UInt32(bits)) - 1
        return (0..<count).map { _ in
            var octet: UInt8 = 0
            for bit in 0..<8 {
                let out = register >> UInt32(bits - 1) & 1
                octet |= UInt8(out) << UInt8(bit)
                let feedback = out ^ (register >> UInt32(tap - 1) & 1)
                register = (register << 1 | feedback) & ((1 << UInt32(bits)) - 1)
            }
            return octet
        }
    }
}
