import BBBluetoothCrypto
import BBPackets

/// Result of the feature exchange and inputs of the later phases. Core Vol 3, Part H, 2.3.
struct PairingTerms {
    let role: PairingRole
    let association: Association
    let isSecureConnections: Bool
    /// In octets, 7...16.
    let keySize: Int
    let isBonding: Bool
    let usesKeypressNotifications: Bool
    /// Both devices want to derive a link key from the LTK. Core Vol 3, Part H, 3.6.1.
    let derivesLinkKey: Bool
    /// Both devices set CT2. Core Vol 3, Part H, 2.4.2.4.
    let usesH7: Bool
    /// Keys sent and keys received by this device on the encrypted link.
    let sentKeys: KeyDistribution
    let expectedKeys: KeyDistribution
    let request: PairingFeatures
    let response: PairingFeatures
    let setup: PairingSetup
    let settings: PairingSettings

    /// - Throws: the reason for rejecting the pairing.
    init(
        _ role: PairingRole, request: PairingFeatures, response: PairingFeatures, setup: PairingSetup, settings: PairingSettings
    ) throws(PairingRefusal) {
        let peer = role == .initiator ? response : request
        if let fault = peer.fault(acceptsAnyKeySize: setup.quirks.acceptsAnyKeySize) { throw PairingRefusal(fault) }
        let (initiatorKeys, responderKeys) = (response.initiatorKeys.intersection(.defined), response.responderKeys.intersection(.defined))
        guard initiatorKeys.isSubset(of: request.initiatorKeys), responderKeys.isSubset(of: request.responderKeys) else {
            throw PairingRefusal(.invalidParameters)
        }
        let shared = request.authReq.intersection(response.authReq)
        (self.role, self.request, self.response, self.setup, self.settings) = (role, request, response, setup, settings)
        isSecureConnections = shared.contains(.sc)
        isBonding = shared.contains(.bonding)
        usesKeypressNotifications = shared.contains(.keypress)
        usesH7 = shared.contains(.ct2) && !setup.quirks.ignoresCT2
        let isAgreed = initiatorKeys.intersection(responderKeys).contains(.linkKey) || setup.quirks.derivesUnasked
        derivesLinkKey = isAgreed && (isSecureConnections || setup.quirks.derivesFromWeakKeys)
        keySize = Int(min(request.maximumKeySize, response.maximumKeySize))
        association = try Self.association(
            request, response, oneFlagSuffices: isSecureConnections || setup.quirks.takesOneFlag, isSecureConnections: isSecureConnections)
        let derived: KeyDistribution = isSecureConnections ? [.encKey, .linkKey] : .linkKey
        let distributed = (initiator: initiatorKeys.subtracting(derived), responder: responderKeys.subtracting(derived))
        sentKeys = role == .initiator ? distributed.initiator : distributed.responder
        expectedKeys = role == .initiator ? distributed.responder : distributed.initiator
        try checkPolicy()
    }

    /// Association model. Out-of-band data takes precedence over MITM, MITM over IO capabilities. Core Vol 3, Part H, 2.3.5.1.
    private static func association(
        _ request: PairingFeatures, _ response: PairingFeatures, oneFlagSuffices: Bool, isSecureConnections: Bool
    ) throws(PairingRefusal) -> Association {
        let flags = (request.outOfBandFlag == 1, response.outOfBandFlag == 1)
        if oneFlagSuffices ? flags.0 || flags.1 : flags.0 && flags.1 { return .outOfBand }
        guard request.authReq.union(response.authReq).contains(.mitm) else { return .justWorks }
        guard
            let mapping = Association.mapping(
                initiator: request.ioCapability, responder: response.ioCapability, isSecureConnections: isSecureConnections)
        else { throw PairingRefusal(.invalidParameters) }
        return mapping
    }

    /// True if the out-of-band data that the flags claim exists. If a peer claims to have this device's data although none was created, the
    /// pairing would count as authenticated because of the flag alone. Core Vol 3, Part H, 2.3.5.1 and 2.3.5.6.4.
    private var hasOutOfBandProof: Bool {
        guard isSecureConnections else { return settings.outOfBandData?.temporaryKey != nil }
        let hasPeerData =
            setup.quirks.claimsOutOfBandData || settings.outOfBandData?.confirm != nil && settings.outOfBandData?.random != nil
        return (ownFeatures.outOfBandFlag == 0 || hasPeerData) && (peerFeatures.outOfBandFlag == 0 || setup.outOfBand != nil)
    }

    /// True if the peer relies on the key pair in this device's out-of-band data.
    var usesOutOfBandData: Bool { isSecureConnections && association == .outOfBand && peerFeatures.outOfBandFlag == 1 }

    private func checkPolicy() throws(PairingRefusal) {
        let needed = settings.pairsSecureConnectionsOnly ? 16 : settings.minimumKeySize
        if keySize < needed, !setup.quirks.ignoresMinimumKeySize { throw PairingRefusal(.encryptionKeySize) }
        if association == .outOfBand {
            guard hasOutOfBandProof || setup.quirks.believesOutOfBandFlag else { throw PairingRefusal(.oobNotAvailable) }
        } else if settings.requiresOutOfBand {
            throw PairingRefusal(.oobNotAvailable)
        }
        let isEnough = level >= settings.minimumLevel && (isSecureConnections || !settings.requiresSecureConnections)
        guard isEnough || setup.quirks.ignoresMinimumLevel else { throw PairingRefusal(.authenticationRequirements) }
        if !settings.acceptsWeakerBond, let bond = setup.bond, strength.isWeaker(than: bond.strength) {
            throw PairingRefusal(.authenticationRequirements)
        }
    }

    var strength: KeyStrength { KeyStrength(isAuthenticated: isAuthenticated, isSecureConnections: isSecureConnections, size: keySize) }

    var isAuthenticated: Bool { association.model.isAuthenticated || setup.quirks.overratesKeys }

    var level: LinkSecurity { strength.level }

    var initiator: DeviceAddress { role == .initiator ? setup.own : setup.peer }
    var responder: DeviceAddress { role == .initiator ? setup.peer : setup.own }
    var ownFeatures: PairingFeatures { role == .initiator ? request : response }
    var peerFeatures: PairingFeatures { role == .initiator ? response : request }

    /// Inputs of phase 3.
    var keyExchange: KeyExchange {
        KeyExchange(role: role, sentKeys: sentKeys, expectedKeys: expectedKeys, strength: strength, setup: setup)
    }

    /// True if this device displays the passkey; otherwise its user enters it.
    var showsPasskey: Bool { association == .passkeyEntry(shownBy: role) }

    /// The passkey to display.
    func drawPasskey() -> UInt32 {
        if setup.quirks.repeatsPasskey { return 111_111 }
        if let passkey = settings.passkey, passkey < 1_000_000 { return passkey }
        var secrets = setup.secrets.stream("passkey")
        return UInt32.random(in: 0..<1_000_000, using: &secrets)
    }
}

extension KeyDistribution {
    /// The defined bits; reserved bits are ignored on reception. Core Vol 3, Part H, 3.6.1.
    fileprivate static let defined: KeyDistribution = [.encKey, .idKey, .signKey, .linkKey]
}
