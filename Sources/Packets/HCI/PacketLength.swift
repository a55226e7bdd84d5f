extension HCIPacket.Kind {
    /// The number of octets in the packet's header. Core Vol 4, Part E, 5.4.
    @inlinable public var headerLength: Int {
        switch self {
        case .command, .sco: 3
        case .acl, .iso: 4
        case .event: 2
        }
    }

    /// Returns the length of the packet that starts with these octets, including the header; nil while the header is incomplete.
    @inlinable public func packetLength(in octets: borrowing RawSpan) -> Int? {
        guard octets.byteCount >= headerLength else { return nil }
        switch self {
        case .command, .sco: return headerLength + Int(octets.u8(at: 2))
        case .event: return headerLength + Int(octets.u8(at: 1))
        case .acl: return headerLength + Int(octets.u16(at: 2))
        case .iso: return headerLength + Int(octets.u16(at: 2) & 0x3FFF)
        }
    }
}

extension HCIPacket {
    /// True if the packet's length agrees with its header.
    @inlinable public var isWhole: Bool { kind.packetLength(in: bytes.span.bytes) == bytes.count }
}
