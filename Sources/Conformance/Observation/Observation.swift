import BBBTP
import BBCapture
import BBCases
import BBPackets
import BBTraffic

/// A packet on a side's HCI, a PDU inside one, or a PDU on the air.
struct Observation: Sendable {
    enum Content: Sendable {
        /// An HCI event with its header.
        case event([UInt8])
        /// A PDU of ATT, SMP or L2CAP signalling that arrived on a connection.
        case upper(ChannelContent, [UInt8], handle: UInt16)
        /// A received packet of synchronous data.
        case voice([UInt8])
        /// An event of the host's upper tester.
        case upperTester(BTPFrame)
        /// A transmission on the simulated air.
        case air(AirFrame)
        /// A BR/EDR packet on the simulated air, or the LMP message inside.
        case baseband(BasebandPacket)

        /// The number of stored octets.
        var count: Int {
            switch self {
            case .event(let bytes), .upper(_, let bytes, _), .voice(let bytes): bytes.count
            case .upperTester(let frame): frame.data.count
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
        case .upper(let content, let bytes, let handle) where !content.isFixed && content.layer != .l2cap:
            content.layer.decode(sdu: bytes, 0..<bytes.count).map { DecodedPacket(connection: handle, channel: content.channel, $0) }
                ?? DecodedPacket(connection: handle, channel: content.channel, pdu: bytes)
        case .upper(let content, let bytes, let handle): DecodedPacket(connection: handle, channel: content.channel, pdu: bytes)
        case .upperTester(let frame): DecodedPacket(layers: [DecodedLayer(btp: frame, isResponse: false)])
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
        case .air, .baseband, .upperTester: nil
        }
    }

    var isAir: Bool {
        switch content {
        case .air, .baseband: true
        case .event, .upper, .voice, .upperTester: false
        }
    }
}

/// A channel of L2CAP, and what it carries.
struct ChannelContent: Sendable, Hashable {
    /// `l2cap` where nothing more than the frame is known.
    var layer: Layer
    var channel: UInt16
    /// True if I- and S-frames end in a check sequence; nil on a channel without retransmission. Core Vol 3, Part A, 3.3.
    var hasCheck: Bool?
    /// True if they have the extended control field.
    var isExtended = false

    static let att = ChannelContent(channel: CID.att)
    static let signalling = ChannelContent(channel: CID.leSignaling)
    static let smp = ChannelContent(channel: CID.smp)

    init(_ layer: Layer, on channel: UInt16, hasCheck: Bool? = nil, isExtended: Bool = false) {
        (self.layer, self.channel, self.hasCheck, self.isExtended) = (layer, channel, hasCheck, isExtended)
    }

    /// Layer of a fixed channel; frames of an unknown layer on another one.
    init(channel: UInt16) { self.init(Layer(channel: channel) ?? .l2cap, on: channel) }

    var isFixed: Bool { Layer(channel: channel) != nil }
}
