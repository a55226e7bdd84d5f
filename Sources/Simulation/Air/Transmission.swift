import BBPackets

/// LE channel, PHY and access address that a receiver is tuned to or a packet is sent on.
struct Tuning {
    var channel: ChannelIndex
    var phy: PHY
    var accessAddress: UInt32 = advertisingAccessAddress
    var crcInit: UInt32 = advertisingCRCInit
}

/// A link layer PDU to send: first header octet and payload. The second header octet is the payload length.
///
/// The payload is a slice of a shared array, so fragmenting an ACL packet copies nothing.
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

/// Physical channel of a packet for the air log, since the packet content does not determine it.
enum PacketKind: UInt8 {
    /// Primary advertising channel.
    case advertising
    /// Secondary advertising channel.
    case auxiliary
    case dataFromCentral
    case dataFromPeripheral
}

/// An LE packet to transmit: PDU, channel, PHY and power.
struct LEPacket {
    var pdu: AirPDU
    var tuning: Tuning
    var phy: AirPHY
    var kind: PacketKind
    /// Transmit power in dBm.
    var power: Int8
    /// CRC octets sent: 3 unless a fault is injected.
    var crcOctets: Int
    /// The payload before encryption; nil if sent unencrypted.
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

/// An LE or BR/EDR packet to transmit.
enum AirPacket {
    case le(LEPacket)
    case bredr(BREDRPacket)

    /// Tuning that a receiver needs for this packet.
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

/// Receiver tuning, or packet destination, for LE or BR/EDR.
enum AirTuning {
    case le(Tuning)
    case bredr(BREDRTuning)

    var channel: RadioChannel {
        switch self {
        case .le(let tuning): .le(tuning.channel)
        case .bredr(let tuning): .bredr(tuning.rfChannel)
        }
    }

    /// True if a receiver with this tuning synchronizes to a packet on its channel: same access address and PHY or same access code.
    func hears(_ packet: AirTuning) -> Bool {
        switch (self, packet) {
        case (.le(let own), .le(let packet)): own.accessAddress == packet.accessAddress && own.phy == packet.phy
        case (.bredr(let own), .bredr(let packet)): own.hears(packet)
        case (.le, .bredr), (.bredr, .le): false
        }
    }

    /// True if the CRC settings match, so that the CRC is correct when no bit is corrupted.
    func recovers(_ packet: AirTuning) -> Bool {
        guard case .le(let own) = self, case .le(let packet) = packet else { return true }
        return own.crcInit == packet.crcInit
    }
}

/// A received LE packet.
struct Reception {
    var pdu: AirPDU
    var phy: AirPHY
    /// Tuning of the receiver; the reply uses the same.
    var tuning: Tuning
    /// Time of the first bit.
    var start: Microseconds
    /// Time of the last bit; the reply starts T_IFS later.
    var end: Microseconds
    /// RSSI in dBm.
    var rssi: Int8
    /// False if the CRC failed; the PDU content is then meaningless.
    var isIntact: Bool
}

/// A packet on the air.
final class Transmission {
    unowned let source: Radio
    /// The packet; nil after the transmission has ended.
    private(set) var packet: AirPacket?
    /// Tuning of the packet, cached because it is read more often than the packet.
    private(set) var tuning = AirTuning.le(Tuning(channel: 37, phy: .le1M))
    private(set) var frequency = 0
    private(set) var power: Int8 = 0
    private(set) var start: Microseconds = .zero
    private(set) var end: Microseconds = .zero
    /// Radios receiving the packet and their reception; empty outside the transmission.
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

    /// Takes the packet out, so that the sender can reuse the transmission for the next one.
    func takePacket() -> AirPacket? { packet.take() }

    /// True if this transmission is still on the air when a later one starts on the same channel.
    func overlaps(_ later: Transmission) -> Bool { end > later.start && self !== later && frequency == later.frequency }
}
