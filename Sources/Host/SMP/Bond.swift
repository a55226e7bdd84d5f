import BBPackets

/// A long term key. Core Vol 3, Part H, 2.4.2.
public struct LongTermKey: Sendable, Hashable {
    /// 16 octets, least significant first, as in HCI; octets beyond the key size are 0.
    public var value: [UInt8]
    /// EDIV and Rand identify the key in LE legacy pairing; both are 0 in LE Secure Connections. Core Vol 3, Part H, 2.4.4.
    public var encryptedDiversifier: UInt16
    public var randomNumber: UInt64
    /// Key size in octets, 7...16. Core Vol 3, Part H, 2.3.4.
    public var size: Int

    public init(_ value: [UInt8], encryptedDiversifier: UInt16 = 0, randomNumber: UInt64 = 0, size: Int = 16) {
        self.value = value
        self.encryptedDiversifier = encryptedDiversifier
        self.randomNumber = randomNumber
        self.size = size
    }

    /// True if EDIV and Rand identify this key.
    public func isNamed(encryptedDiversifier: UInt16, randomNumber: UInt64) -> Bool {
        self.encryptedDiversifier == encryptedDiversifier && self.randomNumber == randomNumber
    }
}

/// A key for signed writes, with the counter that prevents replays. Core Vol 3, Part H, 2.4.5.
public struct SigningKey: Sendable, Hashable {
    /// CSRK, 16 octets, least significant first.
    public var value: [UInt8]
    /// SignCounter of the next message to send, or the lowest value accepted.
    public var counter: UInt32

    public init(_ value: [UInt8], counter: UInt32 = 0) {
        self.value = value
        self.counter = counter
    }
}

/// Keys shared by two paired devices. Core Vol 3, Part H, 2.4.
public struct Bond: Sendable, Hashable {
    /// The peer's identity address, or its address during pairing if it distributed none.
    public var identity: DeviceAddress
    /// The peer's address on the air during pairing, unless it was private. A peer with a static address may distribute another identity
    /// address. Core Vol 3, Part H, 2.4.1.
    public var addressOnAir: DeviceAddress?
    /// The peer's IRK, 16 octets, least significant first; resolves its private addresses. Core Vol 3, Part H, 2.4.1.
    public var identityResolvingKey: [UInt8]?
    /// Key for encryption as peripheral: in legacy pairing, the key that this device distributed.
    public var localLongTermKey: LongTermKey?
    /// Key for encryption as central: in legacy pairing, the key that the peer distributed. In LE Secure Connections both keys are the
    /// same.
    public var peerLongTermKey: LongTermKey?
    /// Signs data of this device.
    public var localSigningKey: SigningKey?
    /// Verifies data signed by the peer.
    public var peerSigningKey: SigningKey?
    /// The BR/EDR link key, if the identity address is the device's BD_ADDR.
    public var linkKey: LinkKey?
    /// True if the peer supports Central Address Resolution; nil until it was read. Core Vol 3, Part C, 12.4.
    public var resolvesAddresses: Bool?
    /// The pairing was protected against MITM attacks.
    public var isAuthenticated: Bool
    /// The pairing used LE Secure Connections.
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

    /// True if the peer has an IRK but does not use private addresses.
    var goesByIdentity: Bool { identityResolvingKey != nil && addressOnAir == identity }

    /// Strength of the LE keys, by the longer LTK.
    var strength: KeyStrength {
        KeyStrength(
            isAuthenticated: isAuthenticated, isSecureConnections: isSecureConnections,
            size: max(localLongTermKey?.size ?? 0, peerLongTermKey?.size ?? 0))
    }

    /// True if this bond may replace `known`, which has the same identity. It must not be weaker. An unauthenticated pairing under another
    /// address does not prove the claimed identity. A peer that has lost its keys pairs again under an address by which it is known.
    ///
    /// - Parameter peer: the bond found by the peer's address on this link.
    func mayReplace(_ known: Bond, pairedWith peer: Bond?) -> Bool {
        !strength.isWeaker(than: known.strength) && (isAuthenticated || peer?.identity == known.identity)
    }

    /// The bond with the existing link key, unless this bond has one that is not weaker.
    func keepingLinkKey(of known: Bond?, _ quirks: PairingQuirks = PairingQuirks()) -> Bond {
        guard let known = known?.linkKey else { return self }
        if let linkKey, !quirks.keepsOldLinkKey, quirks.replacesStrongerLinkKeys || !linkKey.strength.isWeaker(than: known.strength) {
            return self
        }
        var bond = self
        bond.linkKey = known
        return bond
    }

    /// Security level of a link encrypted with one of the bond's keys.
    func level(with key: LongTermKey) -> LinkSecurity {
        KeyStrength(isAuthenticated: isAuthenticated, isSecureConnections: isSecureConnections, size: key.size).level
    }
}
