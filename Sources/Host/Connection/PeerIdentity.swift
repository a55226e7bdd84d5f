import Packets

/// Who the peer of a connection is: its address with its kind, resolved to the identity address where the controller could. Core Vol 6, Part B, 1.3.
///
/// Two are the same peer if they have the same address of the same kind, whether or not it was met under a private address.
public struct PeerIdentity: Sendable {
    public let address: DeviceAddress
    /// The controller resolved a private address to this one: Public or Random Identity Address. Core Vol 4, Part E, 7.7.65.10.
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

/// The addresses in the packets that made a connection; they are private ones where privacy is in use. Core Vol 4, Part E, 7.7.65.10.
public struct OnAirAddresses: Sendable, Hashable {
    /// Nil if the host does not know what its controller used.
    public var own: DeviceAddress?
    public var peer: DeviceAddress

    public init(own: DeviceAddress?, peer: DeviceAddress) {
        self.own = own
        self.peer = peer
    }
}
