import Packets

/// What a receiver of LE tunes to, and where a packet of LE goes.
struct Tuning {
    var channel: ChannelIndex
    var phy: PHY
    var accessAddress: UInt32 = advertisingAccessAddress
    var crcInit: UInt32 = advertisingCRCInit
}

/// A link-layer packet to send: the first header octet and the payload; the second octet is the payload's length.
///
/// The payload is a view into a shared array: sending the fragments of an ACL packet copies nothing.
struct AirPDU {
    var header: UInt8
    var payload: ArraySlice<UInt8>

    init(header: UInt8, payload: ArraySlice<UInt8>) {
        self.header = header
        self.payload = payload
    }

    init(header: UInt8, _ payload: [UInt8] = []) {
        self.init(header: header, payload: payload[...])
    }

    /// Header and payload as one array.
    var bytes: [UInt8] { [header, UInt8(truncatingIfNeeded: payload.count)] + payload }
}

/// What an air log says of a packet's physical channel, which its content does not tell.
enum PacketKind: UInt8 {
    /// On a primary advertising channel.
    case advertising
    /// On a secondary one.
    case auxiliary
    case dataFromCentral
    case dataFromPeripheral
}

/// A packet of LE as it goes out: what, where, how, and how strong.
struct LEPacket {
    var pdu: AirPDU
    var tuning: Tuning
    var phy: AirPHY
    var kind: PacketKind
    /// In dBm.
    var power: Int8
    /// Three, unless a fault is planted.
    var crcOctets: Int
    /// The payload before it was encrypted; nil where it is sent in clear.
    var clear: ArraySlice<UInt8>?

    init(
        _ pdu: AirPDU, _ tuning: Tuning, phy: AirPHY, kind: PacketKind = .advertising, power: Int8 = TransmitPower.preferred,
        crcOctets: Int = 3
    ) {
        self.pdu = pdu
        self.tuning = tuning
        self.phy = phy
        self.kind = kind
        self.power = power
        self.crcOctets = crcOctets
    }

    var airTime: Microseconds { phy.airTime(payload: pdu.payload.count, crcOctets: crcOctets) }
    var channel: RadioChannel { .le(tuning.channel) }
}

/// A packet of either kind as it goes out.
enum AirPacket {
    case le(LEPacket)
    case bredr(BREDRPacket)

    /// What a receiver must be tuned to.
    var tuning: AirTuning {
        switch self {
        case .le(let packet): .le(packet.tuning)
        case .bredr(let packet): .bredr(BREDRTuning(rfChannel: packet.rfChannel, lap: packet.lap))
        }
    }

    var power: Int8 {
        switch self {
        case .le(let packet): packet.power
        case .bredr(let packet): packet.power
        }
    }

    var airTime: Microseconds {
        switch self {
        case .le(let packet): packet.airTime
        case .bredr(let packet): packet.airTime
        }
    }
}

/// What a receiver of either kind listens for, and where a packet goes.
enum AirTuning {
    case le(Tuning)
    case bredr(BREDRTuning)

    var channel: RadioChannel {
        switch self {
        case .le(let tuning): .le(tuning.channel)
        case .bredr(let tuning): .bredr(tuning.rfChannel)
        }
    }

    /// Whether a packet on the channel is followed: by its access address and PHY, or by its access code.
    func hears(_ packet: AirTuning) -> Bool {
        switch (self, packet) {
        case (.le(let own), .le(let packet)): own.accessAddress == packet.accessAddress && own.phy == packet.phy
        case (.bredr(let own), .bredr(let packet)): own.hears(packet)
        case (.le, .bredr), (.bredr, .le): false
        }
    }

    /// Whether the CRC of a packet that is followed comes out right, if nothing happens to it.
    func recovers(_ packet: AirTuning) -> Bool {
        guard case .le(let own) = self, case .le(let packet) = packet else { return true }
        return own.crcInit == packet.crcInit
    }
}

/// A packet of LE as a receiver got it.
struct Reception {
    var pdu: AirPDU
    var phy: AirPHY
    /// What the receiver was tuned to; the answer goes there too.
    var tuning: Tuning
    /// The packet's first bit.
    var start: Microseconds
    /// The packet's last bit: the answer starts T_IFS later.
    var end: Microseconds
    /// In dBm.
    var rssi: Int8
    /// False when the CRC failed: then the PDU's content means nothing.
    var isIntact: Bool
}

/// A packet on the air.
final class Transmission {
    unowned let source: Radio
    /// Until it ends.
    private(set) var packet: AirPacket?
    /// The packet's, which is asked for more often than the packet itself.
    private(set) var tuning = AirTuning.le(Tuning(channel: 37, phy: .le1M))
    private(set) var frequency = 0
    private(set) var power: Int8 = 0
    private(set) var start: Microseconds = .zero
    private(set) var end: Microseconds = .zero
    /// The radios that follow it, and what each makes of it; none before it begins and after its end.
    var listeners: [Listener] = []

    struct Listener {
        unowned var radio: Radio
        var rssi: Int8
        var isIntact: Bool
    }

    init(source: Radio) { self.source = source }

    func prepare(_ packet: consuming AirPacket, at start: Microseconds) {
        tuning = packet.tuning
        frequency = tuning.channel.frequency
        power = packet.power
        self.start = start
        end = start + packet.airTime
        self.packet = packet
    }

    /// The packet, which does not stay: its sender may have the next one.
    func takePacket() -> AirPacket? { packet.take() }

    /// Whether it is still on the air when another begins on the same channel.
    func overlaps(_ later: Transmission) -> Bool { end > later.start && self !== later && frequency == later.frequency }
}
