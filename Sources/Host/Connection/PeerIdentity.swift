import BBPackets

/// Identity of a peer: its address and address type; the identity address if the controller could resolve it. Core Vol 6, Part B, 1.3.
///
/// Peers are equal if address and address type are equal, whether or not the address was resolved.
public struct PeerIdentity: Sendable {
    public let address: DeviceAddress
    /// The controller has resolved a private address to this identity: Public or Random Identity Address. Core Vol 4, Part E, 7.7.65.10.
    public let isResolved: Bool

    public init(_ address: DeviceAddress, isResolved: Bool = false) {
        self.address = address
        self.isResolved = isResolved
    }
}

extension PeerIdentity: Hashable {
    public static func == (one: Self, other: Self) -> Bool { one.address == other.address }
    public func hash(into hasher: inout Hasher) { hasher.combine(address) }
}

extension PeerIdentity: CustomStringConvertible {
    public var description: String { isResolved ? "\(address) (identity)" : "\(address)" }
}

/// Addresses in the packets that created a connection; private addresses if privacy is used. Core Vol 4, Part E, 7.7.65.10.
public struct OnAirAddresses: Sendable, Hashable {
    /// Address of this device on the link; nil if the controller does not report it.
    public var own: DeviceAddress?
    public var peer: DeviceAddress

    public init(own: DeviceAddress?, peer: DeviceAddress) {
        self.own = own
        self.peer = peer
    }
}
