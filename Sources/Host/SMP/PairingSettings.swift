import Packets

/// What a host offers, asks for and insists on when it pairs. Core Vol 3, Part H, 2.3.1 to 2.3.4.
public struct PairingSettings: Sendable, Hashable {
    public var ioCapability = IOCapability.noInputNoOutput
    /// Keys are exchanged and kept.
    public var isBonding = true
    /// Asks for protection against a man in the middle, and takes less where the IO capabilities allow no more.
    public var asksForMITM = false
    /// Offers LE Secure Connections.
    public var supportsSecureConnections = true
    /// A pairing that would end below this level is refused; `.secureConnections` is Secure Connections Only mode. Core Vol 3, Part C, 10.2.4.
    public var minimumLevel = LinkSecurity.encrypted
    /// Octets, 7...16.
    public var minimumKeySize = 7
    public var maximumKeySize = 16
    /// Keys that this side gives away, and those that it wants from the peer, in either role. Core Vol 3, Part H, 3.6.1.
    public var localKeys: KeyDistribution = [.encKey, .idKey]
    public var peerKeys: KeyDistribution = [.encKey, .idKey]
    /// Offers CT2: h7 for keys of the other transport. Core Vol 3, Part H, 2.4.2.4.
    public var supportsH7 = false
    /// Tells the other side about each digit that is entered. Core Vol 3, Part H, 3.5.8.
    public var usesKeypressNotifications = false
    /// The passkey to show, 0...999999; a random one if nil. Whoever sees a pairing with it knows it: one that stays the same protects once.
    public var passkey: UInt32?
    /// What came from the peer by other means.
    public var outOfBandData: OutOfBandData?
    /// Pairs out of band or not at all.
    public var requiresOutOfBand = false
    /// Uses the key pair that everybody knows. Core Vol 3, Part H, 2.3.5.6.1.
    public var usesDebugKeys = false
    /// Pairs with a peer that uses the debug key pair.
    public var acceptsDebugKeys = false
    /// Replaces a bond by one that is less well authenticated or shorter, or that came without authentication under another address.
    public var acceptsWeakerBond = false
    // BR/EDR alone
    /// Offers Secure Simple Pairing, and thus security mode 4. Core Vol 3, Part C, 5.2.2.
    public var supportsSimplePairing = true
    /// The PIN for devices without Secure Simple Pairing, 1...16 octets; nil refuses them. Core Vol 3, Part C, 5.2.1 and 3.2.3.
    public var pin: [UInt8]?
    /// What came from a peer by other means for Secure Simple Pairing.
    public var classicOutOfBandData: ClassicOutOfBandData?

    public init() {}

    /// LE security mode 1, level 4 or nothing.
    public var isSecureConnectionsOnly: Bool {
        get { minimumLevel == .secureConnections }
        set { minimumLevel = newValue ? .secureConnections : .encrypted }
    }

    /// AuthReq as this side sends it. Core Vol 3, Part H, 3.5.1.
    var authenticationRequirements: AuthReq {
        var flags: AuthReq = []
        if isBonding { flags.insert(.bonding) }
        if asksForMITM || minimumLevel >= .authenticated { flags.insert(.mitm) }
        if supportsSecureConnections || isSecureConnectionsOnly { flags.insert(.sc) }
        if usesKeypressNotifications { flags.insert(.keypress) }
        if supportsH7 { flags.insert(.ct2) }
        return flags
    }

    /// Whether there is out-of-band data for what this side offers.
    var hasOutOfBandData: Bool {
        guard let outOfBandData else { return false }
        return authenticationRequirements.contains(.sc) ? outOfBandData.confirm != nil : outOfBandData.temporaryKey != nil
    }
}

/// What one device tells another by other means than Bluetooth. Core Vol 3, Part H, 2.3.5.4 and 2.3.5.6.4. Values are as Core Vol 3, Part C, 12.1 carries
/// them: 16 octets, least significant first.
public struct OutOfBandData: Sendable, Hashable {
    /// TK of LE legacy pairing, the same for both sides.
    public var temporaryKey: [UInt8]?
    /// LE Secure Connections Confirmation Value and Random Value of the device that the data come from.
    public var confirm: [UInt8]?
    public var random: [UInt8]?

    public init(temporaryKey: [UInt8]? = nil, confirm: [UInt8]? = nil, random: [UInt8]? = nil) {
        self.temporaryKey = temporaryKey
        self.confirm = confirm
        self.random = random
    }
}

/// What one device tells another by other means for Secure Simple Pairing. Core Vol 2, Part H, 7.2.2. Each value is 16 octets, least significant first.
public struct ClassicOutOfBandData: Sendable, Hashable {
    /// C and R of the key pair on P-192.
    public var commitment192: [UInt8]
    public var random192: [UInt8]
    /// C and R of the key pair on P-256.
    public var commitment256: [UInt8]
    public var random256: [UInt8]

    public init(commitment192: [UInt8], random192: [UInt8], commitment256: [UInt8], random256: [UInt8]) {
        (self.commitment192, self.random192) = (commitment192, random192)
        (self.commitment256, self.random256) = (commitment256, random256)
    }
}

/// What came of a pairing, or of a Security Request that an existing key answered.
public struct PairingResult: Sendable, Hashable {
    /// Who the peer is; its identity address if it told one.
    public var peer: PeerIdentity
    public var level: LinkSecurity
    /// Nil if the link was encrypted with the key of a bond.
    public var model: AssociationModel?
    public var isSecureConnections: Bool
    /// Octets, 7...16.
    public var keySize: Int
    /// The key store has the keys.
    public var isBonded: Bool
    /// Why a pairing over LE gives no link key for BR/EDR; nil if it gives one.
    public var linkKeyImpediment: KeyDerivationPolicy.Impediment? = nil
}
