/// A packet on the host controller interface, without the framing of a transport. Core Vol 4, Part E, 5.4.
public struct HCIPacket: Sendable, Hashable {
    /// The packet types; the raw values are the indicators of the UART transport. Core Vol 4, Part A, 2.
    public enum Kind: UInt8, Sendable, Hashable, CaseIterable {
        case command = 0x01
        case acl = 0x02
        case sco = 0x03
        case event = 0x04
        case iso = 0x05
    }

    public var kind: Kind
    /// The packet with its header, without an indicator.
    public var bytes: [UInt8]

    @inlinable public init(_ kind: Kind, _ bytes: [UInt8]) {
        self.kind = kind
        self.bytes = bytes
    }
}
