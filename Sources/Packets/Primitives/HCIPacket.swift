/// One packet as it crosses the host controller interface, without a transport's own framing. Core Vol 4, Part E, 5.4.
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
    /// The packet from its header on, without an indicator.
    public var bytes: [UInt8]

    @inlinable public init(_ kind: Kind, _ bytes: [UInt8]) {
        self.kind = kind
        self.bytes = bytes
    }
}
