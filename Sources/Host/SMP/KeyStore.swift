import Packets

/// The keys that two devices have shared by pairing. Core Vol 3, Part H, 2.4.
public struct Bond: Sendable, Hashable {
    /// LTK, 16 octets, least significant first, as HCI carries it.
    public var longTermKey: [UInt8]
    /// EDIV and Rand name the key in LE legacy pairing; both are 0 for LE Secure Connections. Core Vol 3, Part H, 2.4.4.
    public var encryptedDiversifier: UInt16
    public var randomNumber: UInt64
    /// The pairing protected against a man in the middle.
    public var isAuthenticated: Bool

    public init(longTermKey: [UInt8], encryptedDiversifier: UInt16 = 0, randomNumber: UInt64 = 0, isAuthenticated: Bool = false) {
        self.longTermKey = longTermKey
        self.encryptedDiversifier = encryptedDiversifier
        self.randomNumber = randomNumber
        self.isAuthenticated = isAuthenticated
    }
}

/// The bonds of a host, by the peers' identities.
public struct KeyStore: Sendable {
    private var bonds: [PeerIdentity: Bond] = [:]

    public init() {}

    public subscript(peer: PeerIdentity) -> Bond? {
        get { bonds[peer] }
        set { bonds[peer] = newValue }
    }
}
