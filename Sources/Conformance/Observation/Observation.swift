import Capture
import Cases
import Packets

/// A packet on a side's HCI, a PDU inside one, or a PDU on the air.
struct Observation: Sendable {
    enum Content: Sendable {
        /// An HCI event with its header.
        case event([UInt8])
        /// A received PDU of ATT, SMP or L2CAP signalling on a connection.
        case upper(PDULayer, [UInt8], handle: UInt16)
        /// A received packet of synchronous data.
        case voice([UInt8])
        /// A transmission on the simulated air.
        case air(AirFrame)
        /// A BR/EDR packet on the simulated air, or the LMP message inside.
        case baseband(BasebandPacket)

        /// The number of stored octets.
        var count: Int {
            switch self {
            case .event(let bytes), .upper(_, let bytes, _), .voice(let bytes): bytes.count
            case .air(let frame): frame.bytes.count
            case .baseband(let packet): packet.seen.payload.count
            }
        }
    }

    /// The position in the log, in chronological order.
    var index: Int
    var side: Side
    var name: String
    var content: Content
    /// The packet's number in the capture.
    var number: Int
    var time: Microseconds
    /// True if an expectation has consumed the packet.
    var isTaken = false

    /// The decoded packet.
    var decoded: DecodedPacket {
        var decoder = PacketDecoder()
        return switch content {
        case .event(let bytes): decoder.decode(HCIPacket(.event, bytes), .controllerToHost)
        case .voice(let bytes): decoder.decode(HCIPacket(.sco, bytes), .controllerToHost)
        case .upper(.profile(let carried, let channel), let bytes, let handle):
            carried.layer(bytes, of: name).map { DecodedPacket(connection: handle, channel: channel, $0) }
                ?? DecodedPacket(connection: handle, channel: channel, pdu: bytes)
        case .upper(let layer, let bytes, let handle): DecodedPacket(connection: handle, channel: layer.channel, pdu: bytes)
        case .air(let frame): decoder.decode(frame)
        case .baseband(let packet): packet.decoded
        }
    }

    /// The packet's number in the capture, or its time on the air.
    var place: String { number > 0 ? "packet \(number)" : "at \(time.text)" }

    /// The handle of the packet's connection.
    var connection: Int? {
        switch content {
        case .upper(_, _, let handle): Int(handle)
        case .event, .voice: PDUCodec.record(of: self)["Connection_Handle"]?.asNumber
        case .air, .baseband: nil
        }
    }

    var isAir: Bool {
        switch content {
        case .air, .baseband: true
        case .event, .upper, .voice: false
        }
    }
}

/// The layers above HCI that cases support.
enum PDULayer: Sendable, Hashable {
    case att
    case smp
    case signalling
    /// A B-frame on any other channel. Core Vol 3, Part A, 3.1.
    case frame(channel: UInt16)
    /// A protocol on a channel, known by its PSM.
    case profile(ChannelProtocol, channel: UInt16)
    /// A frame of enhanced retransmission or streaming mode, with an optional FCS. Core Vol 3, Part A, 3.3.
    case retransmission(channel: UInt16, hasCheck: Bool)

    /// The fixed channel of an LE link, or the channel itself.
    var channel: UInt16 {
        switch self {
        case .att: 0x0004
        case .signalling: 0x0005
        case .smp: 0x0006
        case .frame(let channel), .profile(_, let channel), .retransmission(let channel, _): channel
        }
    }

    /// The fixed channel of a BR/EDR link. Core Vol 3, Part A, 2.1.
    var classicChannel: UInt16 {
        switch self {
        case .signalling: 0x0001
        case .smp: 0x0007
        case .att, .frame, .profile, .retransmission: channel
        }
    }

    init(channel: UInt16) {
        switch channel {
        case 0x0004: self = .att
        case 0x0001, 0x0005: self = .signalling
        case 0x0006, 0x0007: self = .smp
        default: self = .frame(channel: channel)
        }
    }
}

extension ChannelProtocol {
    /// Returns the decoded layer for an observation of that name.
    fileprivate func layer(_ bytes: [UInt8], of name: String) -> DecodedLayer? {
        // An RFCOMM multiplexer message without its frame.
        if self == .rfcomm, name != RFCOMMFrames.name { return DecodedLayer(layer: "RFCOMM", bytes, 0..<bytes.count) }
        return layer(bytes, 0..<bytes.count)
    }
}
