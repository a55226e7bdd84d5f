import BBBluetoothCrypto
import BBPackets

/// Authentication stage 1 with passkey entry: one user enters the passkey that the other device displays, or both enter it. One commitment
/// for each of 20 bits. Core Vol 2, Part C, 4.2.7.3.2.
struct PasskeyEntry: LMPProcedure {
    private enum State {
        case awaitingUser
        case awaitingConfirm
        case awaitingNumber
        /// Awaiting the peer's LMP_accepted for the local nonce.
        case awaitingAcceptance
        /// The user has cancelled; the peer is notified in response to its commitment.
        case refusing
    }

    private static let rounds = 20

    private var session: PairingSession
    private let ownDisplays: Bool?
    private var state = State.awaitingUser
    private var passkey: UInt32 = 0
    private var round = 0
    /// The peer's commitment of the current round.
    private var commitment: [UInt8] = []
    let kind = LinkManagement.Kind.pairing

    init(_ session: PairingSession, ownDisplays: Bool?) {
        self.session = session
        self.ownDisplays = ownDisplays
    }

    var isAwaitingPeer: Bool { if case .awaitingUser = state { false } else { true } }

    mutating func handle(_ event: LMPEvent, _ link: ACLLinkState) -> [LMPAction]? {
        switch (event, state) {
        case (.start, _):
            guard ownDisplays == true else { return [.report(.passkeyRequested)] }
            let number = session.drawPasskey()
            return [.report(.passkeyShown(number))] + begin(number)
        case (.refused(let refusal), _): return session.fail(refusal)
        case (.hostReplied(.passkey(let number)), .awaitingUser): return begin(number)
        case (.hostReplied(.noPasskey), .awaitingUser): return refuse()
        case (.hostReplied(.keypress(let type)), _): return [.send(LMP.KeypressNotification(notificationType: type), session.transaction)]
        case (.message(let message), _): return session.isFailure(message) ? session.fail() : take(message, link)
        default: return nil
        }
    }

    private mutating func begin(_ number: UInt32) -> [LMPAction] {
        passkey = number
        (session.ownRandom, session.peerRandom) = (UInt128(number), UInt128(number))
        state = .awaitingConfirm
        if session.isInitiator { return [confirm()] }
        // The initiator's commitment may have arrived first.
        return commitment.isEmpty ? [] : [answer()]
    }

    /// 0x80, plus the passkey bit of the current round.
    private var bit: UInt8 { 0x80 | UInt8(truncatingIfNeeded: passkey >> UInt32(round) & 1) }

    private mutating func confirm() -> LMPAction {
        session.drawNonce()
        let commitment = session.computation.commitment(isOwn: true, nonce: session.ownNonce, z: bit)
        return .send(LMP.SimplePairingConfirm(commitmentValue: commitment.littleEndianOctets), session.transaction)
    }

    /// The responder's commitment, sent in response to the initiator's.
    private mutating func answer() -> LMPAction {
        state = .awaitingNumber
        return confirm()
    }

    private var number: LMPAction {
        .send(LMP.SimplePairingNumber(nonceValue: session.ownNonce.littleEndianOctets), session.transaction)
    }

    private mutating func take(_ message: LMPMessage, _ link: ACLLinkState) -> [LMPAction]? {
        switch (message.pdu, state) {
        case (.keypressNotification(let pdu), _): return [.report(.keypress(pdu.notificationType))]
        case (.simplePairingConfirm(let pdu), .awaitingUser) where !session.isInitiator && commitment.isEmpty:
            commitment = pdu.commitmentValue
            return []
        case (.simplePairingConfirm(let pdu), .awaitingConfirm):
            commitment = pdu.commitmentValue
            guard session.isInitiator else { return [answer()] }
            state = .awaitingAcceptance
            return [number]
        case (.simplePairingConfirm, .refusing):
            return [.reject(LMP.SimplePairingConfirm.self, .authenticationFailure, session.transaction)] + session.fail()
        case (.simplePairingNumber(let pdu), .awaitingNumber): return take(number: UInt128(littleEndianOctets: pdu.nonceValue), link)
        case (_, .awaitingAcceptance) where message.accepts(LMP.SimplePairingNumber.self):
            guard session.isInitiator else { return next() }
            state = .awaitingNumber
            return []
        default: return nil
        }
    }

    private mutating func take(number nonce: UInt128, _ link: ACLLinkState) -> [LMPAction] {
        let isKept = session.computation.commitment(isOwn: false, nonce: nonce, z: bit).littleEndianOctets == commitment
        guard isKept || link.settings.quirks.contains(.takesAnyCommitment) else {
            return [.reject(LMP.SimplePairingNumber.self, .authenticationFailure, session.transaction)] + session.fail()
        }
        session.peerNonce = nonce
        let accept = LMPAction.accept(LMP.SimplePairingNumber.self, session.transaction)
        guard session.isInitiator else {
            state = .awaitingAcceptance
            return [accept, number]
        }
        return [accept] + next()
    }

    private mutating func next() -> [LMPAction] {
        round += 1
        guard round < Self.rounds else { return [.continueWith(DHKeyCheck(session, pending: nil))] }
        state = .awaitingConfirm
        return session.isInitiator ? [confirm()] : []
    }

    private mutating func refuse() -> [LMPAction] {
        if session.isInitiator { return [.send(LMP.PasskeyFailed(), session.transaction)] + session.fail() }
        state = .refusing
        guard !commitment.isEmpty else { return [] }
        return [.reject(LMP.SimplePairingConfirm.self, .authenticationFailure, session.transaction)] + session.fail()
    }
}
