import BBPackets

/// Pairing features of one device. Core Vol 3, Part H, 3.5.1 and 3.5.2.
struct PairingFeatures: Sendable, Hashable {
    var ioCapability: IOCapability
    /// OOB data flag: 1 if the device has the peer's out-of-band data.
    var outOfBandFlag: UInt8
    var authReq: AuthReq
    var maximumKeySize: UInt8
    /// Keys distributed by the initiator.
    var initiatorKeys: KeyDistribution
    /// Keys distributed by the responder.
    var responderKeys: KeyDistribution

    init(_ request: SMP.PairingRequest) {
        (ioCapability, outOfBandFlag, authReq) = (request.ioCapability, request.oobDataFlag, request.authReq)
        maximumKeySize = request.maximumEncryptionKeySize
        (initiatorKeys, responderKeys) = (request.initiatorKeyDistribution, request.responderKeyDistribution)
    }

    init(_ response: SMP.PairingResponse) {
        (ioCapability, outOfBandFlag, authReq) = (response.ioCapability, response.oobDataFlag, response.authReq)
        maximumKeySize = response.maximumEncryptionKeySize
        (initiatorKeys, responderKeys) = (response.initiatorKeyDistribution, response.responderKeyDistribution)
    }

    init(
        ioCapability: IOCapability, outOfBandFlag: UInt8, authReq: AuthReq, maximumKeySize: UInt8, initiatorKeys: KeyDistribution,
        responderKeys: KeyDistribution
    ) {
        (self.ioCapability, self.outOfBandFlag, self.authReq) = (ioCapability, outOfBandFlag, authReq)
        (self.maximumKeySize, self.initiatorKeys, self.responderKeys) = (maximumKeySize, initiatorKeys, responderKeys)
    }

    private init(_ settings: PairingSettings) {
        (ioCapability, authReq) = (settings.ioCapability, settings.authenticationRequirements)
        outOfBandFlag = settings.hasOutOfBandData ? 1 : 0
        maximumKeySize = UInt8(clamping: settings.maximumKeySize)
        (initiatorKeys, responderKeys) = ([], [])
    }

    /// Features of a Pairing Request.
    static func request(_ settings: PairingSettings) -> PairingFeatures {
        var features = PairingFeatures(settings)
        if settings.isBonding { (features.initiatorKeys, features.responderKeys) = (settings.localKeys, settings.peerKeys) }
        return features
    }

    /// Features of a Pairing Response, with the requested keys as far as accepted. Core Vol 3, Part H, 3.6.1.
    static func response(_ settings: PairingSettings, to request: PairingFeatures) -> PairingFeatures {
        var features = PairingFeatures(settings)
        guard settings.isBonding else { return features }
        features.initiatorKeys = request.initiatorKeys.intersection(settings.peerKeys)
        features.responderKeys = request.responderKeys.intersection(settings.localKeys)
        if !request.authReq.intersection(features.authReq).contains(.sc) {
            features.initiatorKeys.remove(.linkKey)
            features.responderKeys.remove(.linkKey)
        }
        return features
    }

    /// Features with a false OOB data flag or with reserved bits, as injected faults.
    func claiming(_ quirks: PairingQuirks) -> PairingFeatures {
        var features = self
        if quirks.claimsOutOfBandData { features.outOfBandFlag = 1 }
        if quirks.setsReservedBits { features.authReq.formUnion(.reserved) }
        return features
    }

    var requestPDU: [UInt8] {
        SMP.PairingRequest(
            ioCapability: ioCapability, oobDataFlag: outOfBandFlag, authReq: authReq, maximumEncryptionKeySize: maximumKeySize,
            initiatorKeyDistribution: initiatorKeys, responderKeyDistribution: responderKeys
        ).bytes
    }

    var responsePDU: [UInt8] {
        SMP.PairingResponse(
            ioCapability: ioCapability, oobDataFlag: outOfBandFlag, authReq: authReq, maximumEncryptionKeySize: maximumKeySize,
            initiatorKeyDistribution: initiatorKeys, responderKeyDistribution: responderKeys
        ).bytes
    }

    /// IOcap for f6, most significant octet first. Core Vol 3, Part H, 2.2.8.
    var checkedOctets: [UInt8] { [authReq.rawValue, outOfBandFlag, ioCapability.rawValue] }

    /// Reason for rejecting invalid features of a peer.
    func fault(acceptsAnyKeySize: Bool) -> PairingFailedReason? {
        guard ioCapability.rawValue <= IOCapability.keyboardDisplay.rawValue, outOfBandFlag <= 1 else { return .invalidParameters }
        return acceptsAnyKeySize ? nil : keySizeFault
    }

    var keySizeFault: PairingFailedReason? {
        if maximumKeySize < LongTermKeySize.minimum { return .encryptionKeySize }
        return maximumKeySize > LongTermKeySize.maximum ? .invalidParameters : nil
    }
}

extension AuthReq {
    /// The reserved bits, which are ignored on reception. Core Vol 3, Part H, 3.5.1.
    fileprivate static let reserved = AuthReq(rawValue: 0xC0)
}
