extension HCIPacket.Kind {
    /// Octets of the packet's header. Core Vol 4, Part E, 5.4.
    public var headerLength: Int {
        switch self {
        case .command, .sco: 3
        case .acl, .iso: 4
        case .event: 2
        }
    }

    /// Length of the packet that begins at `start`, header included; nil while its header is not complete.
    public func packetLength(in octets: [UInt8], at start: Int) -> Int? {
        guard octets.count - start >= headerLength else { return nil }
        switch self {
        case .command, .sco: return headerLength + Int(octets[start + 2])
        case .event: return headerLength + Int(octets[start + 1])
        case .acl: return headerLength + Int(octets[start + 2]) + Int(octets[start + 3]) << 8
        case .iso: return headerLength + Int(octets[start + 2]) + Int(octets[start + 3] & 0x3F) << 8
        }
    }
}

extension HCIPacket {
    /// Whether the packet's length is the one its header tells.
    public var isWhole: Bool { kind.packetLength(in: bytes, at: 0) == bytes.count }
}
