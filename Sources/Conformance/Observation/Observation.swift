import Capture
import Cases
import Packets

/// A packet that crossed an end's HCI, a PDU inside one, or a PDU on the air.
struct Observation: Sendable {
    enum Content: Sendable {
        /// An HCI event, its header included.
        case event([UInt8])
        /// A PDU of ATT, SMP or L2CAP signalling that arrived on a connection.
        case upper(PDULayer, [UInt8], handle: UInt16)
        /// A packet of synchronous data that arrived.
        case voice([UInt8])
        /// A transmission of the simulated air.
        case air(AirFrame)
        /// A packet of BR/EDR on the simulated air, or the message of a link manager in it.
        case baseband(BasebandPacket)

        /// Octets that it takes to keep.
        var count: Int {
            switch self {
            case .event(let bytes), .upper(_, let bytes, _), .voice(let bytes): bytes.count
            case .air(let frame): frame.bytes.count
            case .baseband(let packet): packet.seen.payload.count
            }
        }
    }

    /// Place in the log: the order in which things happened.
    var index: Int
    var side: Side
    var name: String
    var content: Content
    /// The packet's number in the capture.
    var number: Int
    var time: Microseconds
    /// An expectation has taken it.
    var isTaken = false

    /// The packet as everything shows it.
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

    /// Where it is found: its number in the capture, or its time on the air.
    var place: String { number > 0 ? "packet \(number)" : "at \(time.text)" }

    /// The handle of the connection that it belongs to.
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

/// Layers above HCI that cases can speak.
enum PDULayer: Sendable, Hashable {
    case att
    case smp
    case signalling
    /// A B-frame of any other channel. Core Vol 3, Part A, 3.1.
    case frame(channel: UInt16)
    /// A protocol on a channel that it has by its PSM.
    case profile(ChannelProtocol, channel: UInt16)
    /// A frame of enhanced retransmission or streaming mode, with a check sequence or without. Core Vol 3, Part A, 3.3.
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

    /// The fixed channels of a BR/EDR link are others. Core Vol 3, Part A, 2.1.
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
    /// The layer that an observation of that name is about.
    fileprivate func layer(_ bytes: [UInt8], of name: String) -> DecodedLayer? {
        // The message of RFCOMM's multiplexer without its frame.
        if self == .rfcomm, name != RFCOMMFrames.name { return DecodedLayer(layer: "RFCOMM", bytes, 0..<bytes.count) }
        return layer(bytes, 0..<bytes.count)
    }
}
