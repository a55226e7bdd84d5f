import BBCases
import BBHost
import BBPackets
import BBProducts

/// The arguments of `pair` and `prepare for pairing`: the host's features and the user's answers.
enum PairingArguments {
    private static let capabilities = [
        "DisplayOnly": 0, "DisplayYesNo": 1, "KeyboardOnly": 2, "NoInputNoOutput": 3, "KeyboardDisplay": 4,
    ]
    static let io = TypedArgument.named("io", capabilities, default: 3, "the IO capability")
    static let bonding = TypedArgument.flag("bonding", default: true, "keep the keys")
    static let mitm = TypedArgument.flag("mitm", default: false, "request protection against a man in the middle")
    static let secureConnections = TypedArgument.flag("secureConnections", default: true, "offer LE Secure Connections")
    static let secureConnectionsOnly = TypedArgument.flag("secureConnectionsOnly", default: false, "accept nothing below level 4")
    static let leastKeySize = TypedArgument.number("leastKeySize", 7...16, default: 7, "shortest accepted key, octets")
    static let mostKeySize = TypedArgument.number("mostKeySize", 7...16, default: 16, "Maximum_Encryption_Key_Size")
    static let keys = TypedArgument.number("keys", 0...15, default: 3, "keys of both sides: 1 EncKey, 2 IdKey, 4 SignKey, 8 LinkKey")
    static let h7 = TypedArgument.flag("h7", default: false, "set CT2")
    static let passkey = TypedArgument.number("passkey", 0...999_999, default: 123_456, "passkey that is shown or entered")
    static let agrees = TypedArgument.flag("agrees", default: true, "the user's answer to a comparison or consent")
    static let outOfBand = TypedArgument.octets("outOfBand", default: [], "TK for LE legacy pairing")

    static let confirm = TypedArgument.octets(
        "outOfBandConfirm", default: [], "the other side's commitment, from `make out-of-band data`")
    static let random = TypedArgument.octets("outOfBandRandom", default: [], "the other side's random value")
    static let claim = TypedArgument.flag(
        "outOfBandClaim", default: false, "set the OOB data flag without the other side's data; zeros are used")
    static let keysAsked = TypedArgument.number("keysAsked", 0...16, default: 16, "keys of the other side; 16: the same as `keys`")
    static let reserved = TypedArgument.flag("reserved", default: false, "set the reserved bits of AuthReq")
    static let waits = TypedArgument.flag("waits", default: false, "the user answers with `answer pairing`")
    static let publicKey = TypedArgument.named("publicKey", publicKeys, default: 0, "the public key that is sent")
    private static let publicKeys = PublicKeyFault.allCases.enumerated().reduce(into: ["valid": 0]) {
        $0[$1.element.rawValue] = $1.offset + 1
    }
    static let zeroSecret = TypedArgument.flag("zeroSecret", default: false, "compute with a DHKey of zeros")
    static let keypress = TypedArgument.flag("keypress", default: false, "send keypress notifications")

    static let all: [ActionArgument] = [
        io.declaration, bonding.declaration, mitm.declaration, secureConnections.declaration, secureConnectionsOnly.declaration,
        leastKeySize.declaration, mostKeySize.declaration, keys.declaration, passkey.declaration, agrees.declaration, outOfBand.declaration,
        confirm.declaration, random.declaration, claim.declaration, keypress.declaration, h7.declaration, keysAsked.declaration,
        reserved.declaration, waits.declaration, publicKey.declaration, zeroSecret.declaration,
    ]

    /// Applies the case's settings of the host and its user.
    static func prepare(_ driver: HostDriver, _ context: ActionContext) throws(StepFailure) -> PairingSettings {
        let settings = try settings(context)
        driver.user = PairingUser(passkey: UInt32(try context(passkey)), agrees: try context(agrees))
        driver.userWaits = try context(waits)
        driver.host.quirks.pairing.claimsOutOfBandData = try context(claim)
        // The subject may have these faults by itself.
        guard context.side == .tester else { return settings }
        driver.host.quirks.pairing.setsReservedBits = try context(reserved)
        driver.host.quirks.pairing.computesWithZeroKey = try context(zeroSecret)
        let fault = try context(publicKey)
        driver.host.quirks.pairing.publicKeyFault =
            PublicKeyFault.allCases.indices.contains(fault - 1) ? PublicKeyFault.allCases[fault - 1] : nil
        return settings
    }

    /// The keys that the other side distributes.
    static func peerKeys(_ context: ActionContext, as own: KeyDistribution) throws(StepFailure) -> KeyDistribution {
        let asked = try context(keysAsked)
        return asked > 15 ? own : KeyDistribution(rawValue: UInt8(clamping: asked))
    }

    private static func settings(_ context: ActionContext) throws(StepFailure) -> PairingSettings {
        var settings = PairingSettings()
        settings.ioCapability = IOCapability(rawValue: UInt8(clamping: try context(io)))
        settings.isBonding = try context(bonding)
        settings.asksForMITM = try context(mitm)
        settings.supportsSecureConnections = try context(secureConnections)
        settings.isSecureConnectionsOnly = try context(secureConnectionsOnly)
        settings.minimumKeySize = try context(leastKeySize)
        settings.maximumKeySize = try context(mostKeySize)
        settings.localKeys = KeyDistribution(rawValue: UInt8(clamping: try context(keys)))
        settings.peerKeys = try peerKeys(context, as: settings.localKeys)
        settings.passkey = UInt32(try context(passkey))
        settings.acceptsWeakerBond = true
        let key = try context(outOfBand)
        if !key.isEmpty { settings.outOfBandData = OutOfBandData(temporaryKey: key) }
        let commitment = try context(confirm)
        if !commitment.isEmpty { settings.outOfBandData = OutOfBandData(confirm: commitment, random: try context(random)) }
        settings.usesKeypressNotifications = try context(keypress)
        settings.supportsH7 = try context(h7)
        return settings
    }
}
