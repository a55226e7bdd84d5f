import Packets

/// A key that encrypts a link. Core Vol 3, Part H, 2.4.2.
public struct LongTermKey: Sendable, Hashable {
    /// 16 octets, least significant first, as HCI carries it; those beyond the key size are 0.
    public var value: [UInt8]
    /// EDIV and Rand name the key in LE legacy pairing; both are 0 in LE Secure Connections. Core Vol 3, Part H, 2.4.4.
    public var encryptedDiversifier: UInt16
    public var randomNumber: UInt64
    /// Octets that count, 7...16. Core Vol 3, Part H, 2.3.4.
    public var size: Int

    public init(_ value: [UInt8], encryptedDiversifier: UInt16 = 0, randomNumber: UInt64 = 0, size: Int = 16) {
        self.value = value
        self.encryptedDiversifier = encryptedDiversifier
        self.randomNumber = randomNumber
        self.size = size
    }

    /// Whether EDIV and Rand mean this key.
    public func isNamed(encryptedDiversifier: UInt16, randomNumber: UInt64) -> Bool {
        self.encryptedDiversifier == encryptedDiversifier && self.randomNumber == randomNumber
    }
}

/// A key for signed writes, with the counter that forbids repeats. Core Vol 3, Part H, 2.4.5.
public struct SigningKey: Sendable, Hashable {
    /// CSRK, 16 octets, least significant first.
    public var value: [UInt8]
    /// SignCounter of the next message to send, or the lowest that is taken.
    public var counter: UInt32

    public init(_ value: [UInt8], counter: UInt32 = 0) {
        self.value = value
        self.counter = counter
    }
}

/// The keys that two devices have shared by pairing. Core Vol 3, Part H, 2.4.
public struct Bond: Sendable, Hashable {
    /// The peer's identity address; the address it was met under if it distributed none.
    public var identity: DeviceAddress
    /// The address on the air when the two paired, if it was not a private one; a peer that goes by a static address may tell another one as its identity.
    /// Core Vol 3, Part H, 2.4.1.
    public var addressOnAir: DeviceAddress?
    /// The peer's IRK, 16 octets, least significant first; resolves its private addresses. Core Vol 3, Part H, 2.4.1.
    public var identityResolvingKey: [UInt8]?
    /// What this side encrypts with as peripheral: in legacy pairing the key that it gave away.
    public var localLongTermKey: LongTermKey?
    /// What this side encrypts with as central: in legacy pairing the peer's key. In LE Secure Connections both keys are the same.
    public var peerLongTermKey: LongTermKey?
    /// Signs what this side sends.
    public var localSigningKey: SigningKey?
    /// Verifies what the peer has signed.
    public var peerSigningKey: SigningKey?
    /// The link key of BR/EDR, where the identity address is the device's BD_ADDR.
    public var linkKey: LinkKey?
    /// Whether the peer's controller resolves private addresses that directed advertising is for; nil until it was asked. Core Vol 3, Part C, 12.4.
    public var resolvesAddresses: Bool?
    /// The pairing protected against a man in the middle.
    public var isAuthenticated: Bool
    /// The pairing was LE Secure Connections.
    public var isSecureConnections: Bool

    public init(
        _ identity: DeviceAddress, localLongTermKey: LongTermKey? = nil, peerLongTermKey: LongTermKey? = nil, isAuthenticated: Bool = false,
        isSecureConnections: Bool = false
    ) {
        self.identity = identity
        self.localLongTermKey = localLongTermKey
        self.peerLongTermKey = peerLongTermKey
        self.isAuthenticated = isAuthenticated
        self.isSecureConnections = isSecureConnections
    }

    /// The peer has an IRK and does without private addresses all the same.
    var goesByIdentity: Bool { identityResolvingKey != nil && addressOnAir == identity }

    /// What the keys of LE are worth, the longer LTK.
    var strength: KeyStrength {
        KeyStrength(
            isAuthenticated: isAuthenticated, isSecureConnections: isSecureConnections,
            size: max(localLongTermKey?.size ?? 0, peerLongTermKey?.size ?? 0))
    }

    /// True if this bond may replace `known`, which has the same identity. It is worth no less; and whoever paired without authentication under
    /// another address only says that the identity is its own. A peer that has lost its keys pairs anew under an address that it is known by.
    ///
    /// - Parameter peer: the bond that the peer's address on this link is known by.
    func mayReplace(_ known: Bond, pairedWith peer: Bond?) -> Bool {
        !strength.isWeaker(than: known.strength) && (isAuthenticated || peer?.identity == known.identity)
    }

    /// With the link key that was there, unless this bond has one that is worth no less.
    func keepingLinkKey(of known: Bond?, _ quirks: PairingQuirks = PairingQuirks()) -> Bond {
        guard let known = known?.linkKey else { return self }
        if let linkKey, !quirks.keepsOldLinkKey, quirks.replacesStrongerLinkKeys || !linkKey.strength.isWeaker(than: known.strength) {
            return self
        }
        var bond = self
        bond.linkKey = known
        return bond
    }

    /// The level that a link reaches with one of the bond's keys.
    func level(with key: LongTermKey) -> LinkSecurity {
        KeyStrength(isAuthenticated: isAuthenticated, isSecureConnections: isSecureConnections, size: key.size).level
    }
}
