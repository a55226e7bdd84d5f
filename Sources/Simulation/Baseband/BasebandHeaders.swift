/// A packet header: ten bits and the HEC. Core Vol 2, Part B, 6.4.
public struct BREDRHeader: Sendable, Hashable {
    /// LT_ADDR, 0...7; 0 in broadcasts and outside a connection.
    public var ltAddr: UInt8
    /// TYPE, 0...15.
    public var type: UInt8
    /// FLOW: the sender can receive more data.
    public var flow: Bool
    /// ARQN: the last payload was received correctly.
    public var arqn: Bool
    /// SEQN: toggles with each new payload.
    public var seqn: Bool

    public init(ltAddr: UInt8 = 0, type: UInt8, flow: Bool = false, arqn: Bool = false, seqn: Bool = false) {
        self.ltAddr = ltAddr & 7
        self.type = type & 15
        self.flow = flow
        self.arqn = arqn
        self.seqn = seqn
    }

    /// The ten bits and the HEC, first transmitted bit in the least significant position.
    ///
    /// - Parameter uap: UAP of the access code's address; DCI for inquiry access codes.
    public func bits(uap: UInt8) -> UInt32 {
        let fields = UInt32(ltAddr) | UInt32(type) << 3 | (flow ? 1 << 7 : 0) | (arqn ? 1 << 8 : 0) | (seqn ? 1 << 9 : 0)
        return fields | UInt32(HeaderErrorCheck.of(fields, uap: uap)) << 10
    }

    /// Returns nil if the HEC does not match.
    public init?(bits: UInt32, uap: UInt8) {
        guard HeaderErrorCheck.of(bits & 0x3FF, uap: uap) == UInt8(truncatingIfNeeded: bits >> 10) else { return nil }
        self.init(
            ltAddr: UInt8(truncatingIfNeeded: bits), type: UInt8(truncatingIfNeeded: bits >> 3), flow: bits >> 7 & 1 == 1,
            arqn: bits >> 8 & 1 == 1, seqn: bits >> 9 & 1 == 1)
    }
}

/// Payload header of an ACL packet. Core Vol 2, Part B, 6.6.2.
public struct BREDRPayloadHeader: Sendable, Hashable {
    /// LLID: kind of user data.
    public enum LogicalLink: UInt8, Sendable {
        case reserved = 0
        /// Continuation of an L2CAP message, or no data.
        case continuation = 1
        /// The start of an L2CAP message.
        case start = 2
        /// An LMP message.
        case lmp = 3
    }

    public var logicalLink: LogicalLink
    /// FLOW of the logical link.
    public var flow: Bool
    /// User data in octets: up to 31, or up to 1,023 with a two-octet header.
    public var length: Int

    public init(_ logicalLink: LogicalLink, flow: Bool, length: Int) {
        self.logicalLink = logicalLink
        self.flow = flow
        self.length = length
    }

    /// - Parameter count: 1 or 2, `payloadHeaderLength` of the packet type.
    public func octets(count: Int) -> [UInt8] {
        let fields = UInt16(truncatingIfNeeded: length) << 3 | (flow ? 1 << 2 : 0) | UInt16(logicalLink.rawValue)
        return Array([UInt8(truncatingIfNeeded: fields), UInt8(truncatingIfNeeded: fields >> 8) & 0x1F].prefix(count))
    }

    /// Returns nil if there are too few octets; ignores the three reserved bits of a two-octet header.
    ///
    /// - Parameter count: 1 or 2.
    public init?(_ octets: some Collection<UInt8>, count: Int) {
        let header = Array(octets.prefix(count))
        guard (1...2).contains(count), header.count == count, let first = header.first, let last = header.last,
            let link = LogicalLink(rawValue: first & 3)
        else { return nil }
        self.init(link, flow: first & 4 != 0, length: Int(first >> 3) | (count == 2 ? Int(last & 0x1F) << 5 : 0))
    }
}
