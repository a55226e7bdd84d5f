import BBBluetoothCrypto
import BBPackets

/// IO capabilities and requirements of one device. Core Vol 2, Part C, 4.2.7.1.
struct IOOffer: Equatable {
    var capability: IOCapability
    /// True if the device has the peer's out-of-band data.
    var hasOutOfBandData: Bool
    /// Authentication requirements 0...5; odd values require MITM protection.
    var requirements: UInt8

    var asksForProtection: Bool { requirements & 1 == 1 }
    /// Input of f3, most significant octet first.
    var checked: [UInt8] { [requirements, hasOutOfBandData ? 1 : 0, capability.rawValue] }
    /// True if the user can confirm a six-digit number.
    fileprivate var compares: Bool { capability == .displayYesNo }
    fileprivate var entersOnly: Bool { capability == .keyboardOnly }
}

/// Association model. Core Vol 3, Part C, 5.2.2.6.
enum PairingModel: Equatable {
    /// Numeric comparison, or Just Works if not protected.
    case numericComparison(isProtected: Bool)
    /// - Parameter ownDisplays: true if this device displays the passkey that the peer's user enters; nil if both users enter it.
    case passkeyEntry(ownDisplays: Bool?)
    case outOfBand

    init(own: IOOffer, peer: IOOffer) {
        if own.hasOutOfBandData || peer.hasOutOfBandData {
            self = .outOfBand
        } else if !own.asksForProtection && !peer.asksForProtection {
            self = .numericComparison(isProtected: false)
        } else if own.capability == .noInputNoOutput || peer.capability == .noInputNoOutput {
            self = .numericComparison(isProtected: false)
        } else if own.entersOnly || peer.entersOnly {
            self = .passkeyEntry(ownDisplays: own.entersOnly && peer.entersOnly ? nil : !own.entersOnly)
        } else {
            self = .numericComparison(isProtected: own.compares && peer.compares)
        }
    }

    /// True if the model protects against MITM attacks.
    var isProtected: Bool {
        if case .numericComparison(let isProtected) = self { return isProtected }
        return true
    }
}

/// One Secure Simple Pairing, passed from procedure to procedure. Core Vol 2, Part C, 4.2.7.
struct PairingSession {
    let isInitiator: Bool
    let transaction: LMPTransaction
    let own: IOOffer
    let peer: IOOffer
    private let addresses: (own: BDADDR, peer: BDADDR)
    private let isP256: Bool
    /// The local random number sent out of band, or a new one if none was sent. Core Vol 2, Part H, 7.2.2.
    let outOfBandRandom: UInt128
    var computation: any PairingComputation
    private var secrets: SecretSource
    var ownNonce: UInt128 = 0
    var peerNonce: UInt128 = 0
    /// Local and peer values of the out-of-band data or passkey in the DHKey checks.
    var ownRandom: UInt128 = 0
    var peerRandom: UInt128 = 0

    init(isInitiator: Bool, _ transaction: LMPTransaction, own: IOOffer, peer: IOOffer, _ link: ACLLinkState) {
        self.isInitiator = isInitiator
        self.transaction = transaction
        self.own = own
        self.peer = peer
        addresses = (link.own, link.peer)
        isP256 = link.usesSecureConnections
        var secrets = link.stream
        let kept = link.settings.outOfBand
        let untold = secrets.key()
        outOfBandRandom = (isP256 ? kept?.random256 : kept?.random192) ?? untold
        computation =
            isP256
            ? CurveComputation(kept?.p256 ?? .generate(using: &secrets), minorType: 2) { P256PublicKey(x: $0, y: $1) }
            : CurveComputation(kept?.p192 ?? .generate(using: &secrets), minorType: 1) { P192PublicKey(x: $0, y: $1) }
        self.secrets = secrets
    }

    var model: PairingModel { PairingModel(own: own, peer: peer) }

    mutating func drawNonce() { ownNonce = secrets.key() }
    /// Draws a passkey to display, 0...999999.
    mutating func drawPasskey() -> UInt32 { .random(in: 0..<1_000_000, using: &secrets) }

    // MARK: Computed values

    /// DHKey check of the local device or of the peer. Core Vol 2, Part H, 7.2.4.
    func check(isOwn: Bool) -> [UInt8] {
        let terms =
            isOwn
            ? PairingCheck(
                nonces: (ownNonce, peerNonce), random: peerRandom, offer: own, addresses: (addresses.own, addresses.peer))
            : PairingCheck(
                nonces: (peerNonce, ownNonce), random: ownRandom, offer: peer, addresses: (addresses.peer, addresses.own))
        return computation.check(terms).littleEndianOctets
    }

    var linkKey: [UInt8] {
        computation.linkKey(
            initiator: isInitiator ? addresses.own : addresses.peer, responder: isInitiator ? addresses.peer : addresses.own,
            nonceOfInitiator: isInitiator ? ownNonce : peerNonce, nonceOfResponder: isInitiator ? peerNonce : ownNonce
        ).littleEndianOctets
    }

    var keyType: LinkKeyType {
        if computation.usesDebugKey { return .debugCombination }
        return switch (isP256, model.isProtected) {
        case (false, false): .unauthenticatedCombinationP192
        case (false, true): .authenticatedCombinationP192
        case (true, false): .unauthenticatedCombinationP256
        case (true, true): .authenticatedCombinationP256
        }
    }

    /// Procedure that follows the public key exchange.
    var firstStage: any LMPProcedure {
        switch model {
        case .numericComparison: NumericComparison(self)
        case .passkeyEntry(let ownDisplays): PasskeyEntry(self, ownDisplays: ownDisplays)
        case .outOfBand: OutOfBandExchange(self)
        }
    }

    // MARK: Failure

    /// Pairing has failed: reports it to the host, and the failed authentication to the initiator's host.
    func fail(_ status: ErrorCode = .authenticationFailure) -> [LMPAction] {
        let authentication: [LMPAction] = isInitiator ? [.report(.authenticated(status))] : []
        return [.report(.simplePairingComplete(status))] + authentication + [.finish]
    }

    /// True if the message reports that the initiator's user has cancelled or that its data did not match.
    func isFailure(_ message: LMPMessage) -> Bool {
        switch message.pdu {
        case .numericComparisonFailed, .passkeyFailed, .oobFailed: !isInitiator
        default: false
        }
    }

    /// Handles the rejection of one of the session's PDUs.
    func fail(_ refusal: LMPRefusal) -> [LMPAction]? {
        let opcodes: [UInt16] = [
            LMP.EncapsulatedHeader.opcode, LMP.EncapsulatedPayload.opcode, LMP.SimplePairingConfirm.opcode,
            LMP.SimplePairingNumber.opcode, LMP.DHKeyCheck.opcode,
        ]
        guard let opcode = refusal.opcode, opcodes.contains(opcode.opcode) else { return nil }
        return fail()
    }
}
