import Packets

/// What a radio tunes to.
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

/// A packet as a receiver got it.
struct Reception {
    var pdu: AirPDU
    var phy: AirPHY
    var channel: ChannelIndex
    /// The packet's first bit.
    var start: Microseconds
    /// The packet's last bit: the answer starts T_IFS later.
    var end: Microseconds
    /// In dBm.
    var rssi: Int8
    /// False when the CRC failed: then the PDU's content means nothing.
    var isIntact: Bool
    /// The radio that sent it, for log and statistics; a link layer judges by content only.
    unowned var source: Radio
}

/// A packet on the air.
final class Transmission {
    unowned let source: Radio
    var tuning = Tuning(channel: 37, phy: .le1M)
    var phy = AirPHY.le1M
    var pdu = AirPDU(header: 0)
    var kind = PacketKind.advertising
    var power: Int8 = 0
    var start: Microseconds = .zero
    var end: Microseconds = .zero
    /// The radios that follow it, and what each makes of it.
    var listeners: [Listener] = []

    struct Listener {
        unowned var radio: Radio
        var rssi: Int8
        var isIntact: Bool
    }

    init(source: Radio) { self.source = source }

    /// Whether it is still on the air when another begins on the same channel.
    func overlaps(_ later: Transmission) -> Bool {
        tuning.channel == later.tuning.channel && end > later.start && self !== later
    }
}
