import BBPackets

/// Offers and requirements of a host for pairing. Core Vol 3, Part H, 2.3.1 to 2.3.4.
public struct PairingSettings: Sendable, Hashable {
    public var ioCapability = IOCapability.noInputNoOutput
    /// Bonding: keys are exchanged and stored.
    public var isBonding = true
    /// Requests MITM protection, but accepts less if the IO capabilities do not allow it.
    public var asksForMITM = false
    /// Offers LE Secure Connections.
    public var supportsSecureConnections = true
    /// Minimum security level. A pairing below it is rejected; `.secureConnections` is Secure Connections Only mode. Core Vol 3, Part C,
    /// 10.2.4.
    public var minimumLevel = LinkSecurity.encrypted
    /// Rejects LE legacy pairing and keys of less than 16 octets, whatever the level. Core Vol 3, Part C, 10.2.1.
    public var requiresSecureConnections = false
    /// In octets, 7...16.
    public var minimumKeySize = 7
    public var maximumKeySize = 16
    /// Keys that this device distributes, and keys that it requests, in either role. Core Vol 3, Part H, 3.6.1.
    public var localKeys: KeyDistribution = [.encKey, .idKey]
    public var peerKeys: KeyDistribution = [.encKey, .idKey]
    /// Sets CT2: h7 for cross-transport key derivation. Core Vol 3, Part H, 2.4.2.4.
    public var supportsH7 = false
    /// Sends a notification for each entered digit. Core Vol 3, Part H, 3.5.8.
    public var usesKeypressNotifications = false
    /// Passkey to display, 0...999999; nil for a random one. A fixed passkey protects one pairing only, since it is then known.
    public var passkey: UInt32?
    /// Out-of-band data received from the peer.
    public var outOfBandData: OutOfBandData?
    /// Rejects pairing without out-of-band data.
    public var requiresOutOfBand = false
    /// Uses the published debug key pair. Core Vol 3, Part H, 2.3.5.6.1.
    public var usesDebugKeys = false
    /// Accepts peers that use the debug key pair.
    public var acceptsDebugKeys = false
    /// Accepts bonds that replace a stronger one, or that result from an unauthenticated pairing under another address.
    public var acceptsWeakerBond = false
    // BR/EDR only
    /// Offers Secure Simple Pairing, and thus security mode 4. Core Vol 3, Part C, 5.2.2.
    public var supportsSimplePairing = true
    /// PIN for devices without Secure Simple Pairing, 1...16 octets; nil to reject them. Core Vol 3, Part C, 5.2.1 and 3.2.3.
    public var pin: [UInt8]?
    /// Out-of-band data received from a peer for Secure Simple Pairing.
    public var classicOutOfBandData: ClassicOutOfBandData?

    public init() {}

    /// True for Secure Connections Only mode: LE security mode 1, level 4.
    public var isSecureConnectionsOnly: Bool {
        get { minimumLevel == .secureConnections }
        set { minimumLevel = newValue ? .secureConnections : .encrypted }
    }

    /// True if no LE legacy pairing is accepted.
    var pairsSecureConnectionsOnly: Bool { requiresSecureConnections || isSecureConnectionsOnly }

    /// AuthReq to send. Core Vol 3, Part H, 3.5.1.
    var authenticationRequirements: AuthReq {
        var flags: AuthReq = []
        if isBonding { flags.insert(.bonding) }
        if asksForMITM || minimumLevel >= .authenticated { flags.insert(.mitm) }
        if supportsSecureConnections || pairsSecureConnectionsOnly { flags.insert(.sc) }
        if usesKeypressNotifications { flags.insert(.keypress) }
        if supportsH7 { flags.insert(.ct2) }
        return flags
    }

    /// True if there is out-of-band data for the offered kind of pairing.
    var hasOutOfBandData: Bool {
        guard let outOfBandData else { return false }
        return authenticationRequirements.contains(.sc) ? outOfBandData.confirm != nil : outOfBandData.temporaryKey != nil
    }
}

/// Out-of-band data of LE pairing. Core Vol 3, Part H, 2.3.5.4 and 2.3.5.6.4. Values are 16 octets, least significant first, as in Core Vol
/// 3, Part C, 12.1.
public struct OutOfBandData: Sendable, Hashable {
    /// TK of LE legacy pairing, the same for both devices.
    public var temporaryKey: [UInt8]?
    /// LE Secure Connections Confirmation Value and Random Value of the device that created the data.
    public var confirm: [UInt8]?
    public var random: [UInt8]?

    public init(temporaryKey: [UInt8]? = nil, confirm: [UInt8]? = nil, random: [UInt8]? = nil) {
        self.temporaryKey = temporaryKey
        self.confirm = confirm
        self.random = random
    }
}

/// Out-of-band data of Secure Simple Pairing. Core Vol 2, Part H, 7.2.2. Values are 16 octets, least significant first.
public struct ClassicOutOfBandData: Sendable, Hashable {
    /// C and R for the P-192 key pair.
    public var commitment192: [UInt8]
    public var random192: [UInt8]
    /// C and R for the P-256 key pair.
    public var commitment256: [UInt8]
    public var random256: [UInt8]

    public init(commitment192: [UInt8], random192: [UInt8], commitment256: [UInt8], random256: [UInt8]) {
        (self.commitment192, self.random192) = (commitment192, random192)
        (self.commitment256, self.random256) = (commitment256, random256)
    }
}

/// Result of a pairing, or of a Security Request that was answered with an existing key.
public struct PairingResult: Sendable, Hashable {
    /// Identity of the peer: its identity address if it distributed one.
    public var peer: PeerIdentity
    public var level: LinkSecurity
    /// Association model; nil if the link was encrypted with the key of a bond.
    public var model: AssociationModel?
    public var isSecureConnections: Bool
    /// In octets, 7...16.
    public var keySize: Int
    /// The keys were stored.
    public var isBonded: Bool
    /// Reason for not deriving a BR/EDR link key in an LE pairing; nil if one was derived.
    public var linkKeyImpediment: KeyDerivationPolicy.Impediment? = nil
}
