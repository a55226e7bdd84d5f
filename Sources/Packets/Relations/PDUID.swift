/// Identifies a declared PDU among all layers: its layer, its code and, for an LE event, its subevent.
///
/// The generated members are the relations to other PDUs, as the declarations state them.
public struct PDUID: RawRepresentable, Sendable, Hashable {
    /// The layer's number in the upper octet, then two octets of code, then the subevent or 0.
    public let rawValue: UInt32

    @inlinable public init(rawValue: UInt32) { self.rawValue = rawValue }

    public init(_ layer: Layer, code: Int, subevent: Int? = nil) {
        rawValue = UInt32(layer.number) << 24 | UInt32(code & 0xFFFF) << 8 | UInt32((subevent ?? 0) & 0xFF)
    }

    /// Opcode, event code or PDU type.
    public var code: Int { Int(rawValue >> 8 & 0xFFFF) }

    /// The subevent of an LE event; nil for other PDUs.
    public var subevent: Int? { rawValue & 0xFF == 0 ? nil : Int(rawValue & 0xFF) }
}

extension PDUID {
    /// True for a PDU that the peer answers.
    public var isRequest: Bool { awaitsGeneralResponse || !answeredBy.isEmpty }

    /// True for a PDU that answers one of the peer.
    public var isAnswer: Bool { !answers.isEmpty }

    /// True for a request that is not itself a step of the peer's procedure, as LL_START_ENC_REQ is.
    public var beginsProcedure: Bool { isRequest && !isAnswer }

    /// The PDU and the other versions of it, the oldest first.
    public var versions: [PDUID] {
        var first = self
        while let earlier = first.replaces.first { first = earlier }
        var all = [first]
        while let later = all[all.count - 1].replacedBy.first { all.append(later) }
        return all
    }
}

/// The request to which a general response belongs.
public enum AnsweredRequest: Sendable, Hashable {
    /// The one that is pending.
    case pending
    /// The one whose code is in these fields, the most significant octet first.
    case named([String])
}

/// The effect of a PDU on a link, stream or channel, if it is successful.
public enum LinkEffect: Sendable, Hashable {
    case opens(LinkKind)
    case changes(LinkProperty)
    case closes(LinkKind)
}

extension HCICommand {
    public static var id: PDUID { PDUID(.hciCommands, code: Int(opcode)) }
}

extension HCIEvent {
    public static var id: PDUID { PDUID(.hciEvents, code: Int(code), subevent: subevent.map { Int($0) }) }

    /// Decodes the event; nil for another event.
    public init?(anyVersion packet: HCIPacket) throws(PDUError) {
        guard packet.id == Self.id else { return nil }
        self = try packet.event()
    }
}

extension LLControlPDU {
    public static var id: PDUID { PDUID(.llControl, code: Int(opcode)) }
}

extension ATTPDU {
    public static var id: PDUID { PDUID(.att, code: Int(opcode)) }
}

extension SMPPDU {
    public static var id: PDUID { PDUID(.smp, code: Int(opcode)) }
}

extension L2CAPSignalingPDU {
    public static var id: PDUID { PDUID(.l2capSignaling, code: Int(opcode)) }
}

extension LMPPDU {
    public static var id: PDUID { PDUID(.lmp, code: Int(opcode)) }
}

extension HCIPacket {
    /// The command or event; nil for data and for a packet without a complete header.
    public var id: PDUID? {
        if let opcode = commandOpcode { return PDUID(.hciCommands, code: Int(opcode)) }
        return eventCode.map { PDUID(.hciEvents, code: Int($0), subevent: leSubevent.map { Int($0) }) }
    }

    /// The connection of a command or event: its first Connection_Handle, without the reserved bits. Core Vol 4, Part E, 5.4.2.
    public var connectionHandle: ConnectionHandle? {
        guard let offset = id?.handleOffset else { return nil }
        let start = kind.headerLength + (leSubevent == nil ? 0 : 1) + offset
        guard bytes.count >= start + 2 else { return nil }
        return ConnectionHandle((UInt16(bytes[start]) | UInt16(bytes[start + 1]) << 8) & 0x0FFF)
    }
}
