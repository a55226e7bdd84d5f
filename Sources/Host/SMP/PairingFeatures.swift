import Packets

/// What one side said in the pairing feature exchange. Core Vol 3, Part H, 3.5.1 and 3.5.2.
struct PairingFeatures: Sendable, Hashable {
    var ioCapability: IOCapability
    /// OOB data flag: 1 if it has data from the other side.
    var outOfBandFlag: UInt8
    var authReq: AuthReq
    var maximumKeySize: UInt8
    /// What the initiator gives.
    var initiatorKeys: KeyDistribution
    /// What the responder gives.
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

    /// The initiator's offer.
    static func request(_ settings: PairingSettings) -> PairingFeatures {
        var features = PairingFeatures(settings)
        if settings.isBonding { (features.initiatorKeys, features.responderKeys) = (settings.localKeys, settings.peerKeys) }
        return features
    }

    /// The responder's answer: of the keys asked for, those that it agrees to. Core Vol 3, Part H, 3.6.1.
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

    /// As a device says it that claims data it does not have.
    func claiming(_ quirks: PairingQuirks) -> PairingFeatures {
        var features = self
        if quirks.claimsOutOfBandData { features.outOfBandFlag = 1 }
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

    /// IOcap of f6, most significant octet first. Core Vol 3, Part H, 2.2.8.
    var checkedOctets: [UInt8] { [authReq.rawValue, outOfBandFlag, ioCapability.rawValue] }

    /// What is wrong with a peer's features in themselves.
    func fault(acceptsAnyKeySize: Bool) -> PairingFailedReason? {
        guard ioCapability.rawValue <= IOCapability.keyboardDisplay.rawValue, outOfBandFlag <= 1 else { return .invalidParameters }
        return acceptsAnyKeySize ? nil : keySizeFault
    }

    var keySizeFault: PairingFailedReason? {
        if maximumKeySize < LongTermKeySize.minimum { return .encryptionKeySize }
        return maximumKeySize > LongTermKeySize.maximum ? .invalidParameters : nil
    }
}
