import BluetoothCrypto
import Packets

/// What one side offers in the exchange of IO capabilities. Core Vol 2, Part C, 4.2.7.1.
struct IOOffer: Equatable {
    var capability: IOCapability
    /// Whether it has received the other side's out-of-band data.
    var hasOutOfBandData: Bool
    /// 0...5; odd numbers ask for protection against a man in the middle.
    var requirements: UInt8

    var asksForProtection: Bool { requirements & 1 == 1 }
    /// As f3 takes it, most significant first.
    var checked: [UInt8] { [requirements, hasOutOfBandData ? 1 : 0, capability.rawValue] }
    /// Whether its user can say yes or no to six digits.
    fileprivate var compares: Bool { capability == .displayYesNo }
    fileprivate var entersOnly: Bool { capability == .keyboardOnly }
}

/// How the two sides prove to each other that nobody is between them. Core Vol 3, Part C, 5.2.2.6.
enum PairingModel: Equatable {
    /// Both users compare six digits, or nobody does.
    case numericComparison(isProtected: Bool)
    /// - Parameter ownDisplays: whether this side shows what the other side's user enters; nil where both users enter.
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

    /// Whether a man in the middle would have been noticed.
    var isProtected: Bool {
        if case .numericComparison(let isProtected) = self { return isProtected }
        return true
    }
}

/// One run of Secure Simple Pairing, handed from step to step. Core Vol 2, Part C, 4.2.7.
struct PairingSession {
    let isInitiator: Bool
    let transaction: LMPTransaction
    let own: IOOffer
    let peer: IOOffer
    private let addresses: (own: BDADDR, peer: BDADDR)
    private let isP256: Bool
    /// This side's random number that went out of band; one that nobody has if none did. Core Vol 2, Part H, 7.2.2.
    let outOfBandRandom: UInt128
    var computation: any PairingComputation
    private var secrets: SecretSource
    var ownNonce: UInt128 = 0
    var peerNonce: UInt128 = 0
    /// What of out-of-band data or of the passkey enters the checks: this side's number, and the other's.
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
    /// A passkey to show, 0...999999.
    mutating func drawPasskey() -> UInt32 { .random(in: 0..<1_000_000, using: &secrets) }

    // MARK: Computed

    /// This side's check of the DHKey, or the other's. Core Vol 2, Part H, 7.2.4.
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

    /// The step that follows the exchange of public keys.
    var firstStage: any LMPProcedure {
        switch model {
        case .numericComparison: NumericComparison(self)
        case .passkeyEntry(let ownDisplays): PasskeyEntry(self, ownDisplays: ownDisplays)
        case .outOfBand: OutOfBandExchange(self)
        }
    }

    // MARK: The end

    /// Pairing has failed: both hosts hear of it, and the initiator's that there is no authentication.
    func fail(_ status: ErrorCode = .authenticationFailure) -> [LMPAction] {
        let authentication: [LMPAction] = isInitiator ? [.report(.authenticated(status))] : []
        return [.report(.simplePairingComplete(status))] + authentication + [.finish]
    }

    /// Whether the initiator says that its user has given up, or its data did not fit.
    func isFailure(_ message: LMPMessage) -> Bool {
        switch message.pdu {
        case .numericComparisonFailed, .passkeyFailed, .oobFailed: !isInitiator
        default: false
        }
    }

    /// What a refusal of one of its PDUs means.
    func fail(_ refusal: LMPRefusal) -> [LMPAction]? {
        let opcodes: [UInt16] = [
            LMP.EncapsulatedHeader.opcode, LMP.EncapsulatedPayload.opcode, LMP.SimplePairingConfirm.opcode,
            LMP.SimplePairingNumber.opcode, LMP.DHKeyCheck.opcode,
        ]
        guard let opcode = refusal.opcode, opcodes.contains(opcode.opcode) else { return nil }
        return fail()
    }
}
