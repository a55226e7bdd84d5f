import BBPackets

/// PDU IDs of metadata transfer. AVRCP 1.6, 4.5.
public enum AVRCPPDUID: UInt8, Sendable, Hashable, CaseIterable {
    case getCapabilities = 0x10
    case getElementAttributes = 0x20
    case getPlayStatus = 0x30
    case registerNotification = 0x31
    case requestContinuingResponse = 0x40
    case abortContinuingResponse = 0x41
    case setAbsoluteVolume = 0x50
}

/// Events for notification. AVRCP 1.6, appendix H.
public struct AVRCPEvent: OpenEnum {
    public var rawValue: UInt8
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    public static let playbackStatusChanged: AVRCPEvent = 0x01
    public static let trackChanged: AVRCPEvent = 0x02
    public static let playbackPositionChanged: AVRCPEvent = 0x05
    public static let volumeChanged: AVRCPEvent = 0x0D
}

/// Value of an event notification. AVRCP 1.6, 6.7.2.
public enum AVRCPNotification: Sendable, Hashable {
    /// 0 stopped, 1 playing, 2 paused.
    case playbackStatus(UInt8)
    /// All ones if no track is selected.
    case track(UInt64)
    /// In milliseconds.
    case playbackPosition(UInt32)
    /// 0...127.
    case volume(UInt8)
    case other(AVRCPEvent, [UInt8])

    public var event: AVRCPEvent {
        switch self {
        case .playbackStatus: .playbackStatusChanged
        case .track: .trackChanged
        case .playbackPosition: .playbackPositionChanged
        case .volume: .volumeChanged
        case .other(let event, _): event
        }
    }

    var pdu: AVRCPResponses.RegisterNotificationRsp {
        var writer = ByteWriter()
        switch self {
        case .playbackStatus(let value): writer.u8(value)
        case .volume(let value): writer.u8(value & 0x7F)
        case .track(let value):
            writer.u64be(value)
        case .playbackPosition(let value): writer.u32be(value)
        case .other(_, let octets): writer.bytes(octets)
        }
        return .init(eventID: event.rawValue, eventParameters: writer.bytes)
    }

    /// Decodes the parameters, whose format depends on the event.
    init(_ pdu: AVRCPResponses.RegisterNotificationRsp) throws(PDUError) {
        var reader = ByteReader(pdu.eventParameters.span.bytes)
        let event = AVRCPEvent(pdu.eventID)
        switch event {
        case .playbackStatusChanged: self = .playbackStatus(try reader.u8("PlayStatus"))
        case .trackChanged:
            self = .track(try reader.u64be("Identifier"))
        case .playbackPositionChanged: self = .playbackPosition(try reader.u32be("Playback Position"))
        case .volumeChanged: self = .volume(try reader.u8("Absolute Volume") & 0x7F)
        default: self = .other(event, reader.rest())
        }
    }
}

/// Operands of a vendor dependent frame of the Bluetooth SIG. AVRCP 1.6, 6.3.1.
struct AVRCPPDU: Sendable, Hashable {
    enum PacketType: UInt8, Sendable {
        case single = 0
        case start, next, end
    }

    static let company: [UInt8] = [0x00, 0x19, 0x58]
    /// Capability IDs. AVRCP 1.6, 6.4.1.
    static let companyID: UInt8 = 2
    static let eventsSupported: UInt8 = 3
    /// Maximum octets of parameters: an AV/C frame has 512 octets.
    static let limit = 512 - 10

    var id: UInt8
    var type = PacketType.single
    var parameters: [UInt8]

    init(_ id: AVRCPPDUID, _ parameters: [UInt8] = []) { (self.id, self.parameters) = (id.rawValue, parameters) }

    init<Parameters: ChannelPDU>(_ pdu: Parameters) { self.init(id: UInt8(truncatingIfNeeded: Parameters.opcode), pdu.parameters) }

    init(id: UInt8, type: PacketType = .single, _ parameters: [UInt8]) { (self.id, self.type, self.parameters) = (id, type, parameters) }

    /// - Returns: nil for a frame of another company.
    init?(operands: [UInt8]) throws(AVRCPErrorCode) {
        guard operands.starts(with: Self.company) else { return nil }
        var reader = ByteReader(operands.span.bytes)
        do throws(PDUError) {
            try reader.skip(3, "Company ID")
            id = try reader.u8("PDU ID")
            type = PacketType(rawValue: try reader.u8("Packet Type") & 3) ?? .single
            let length = Int(try reader.u16be("Parameter Length"))
            parameters = try reader.bytes(length, "Parameters")
        } catch { throw .wrongLength }
        guard reader.remaining == 0 else { throw .wrongLength }
    }

    var operands: [UInt8] {
        Self.company + [id, type.rawValue, UInt8(parameters.count >> 8 & 0xFF), UInt8(parameters.count & 0xFF)] + parameters
    }
}
