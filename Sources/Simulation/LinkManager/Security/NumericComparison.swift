import BBBluetoothCrypto
import BBPackets

/// Authentication stage 1 with numeric comparison, or with Just Works, where no user compares the number. Core Vol 2, Part C, 4.2.7.3.1.
struct NumericComparison: LMPProcedure {
    private enum State {
        case awaitingConfirm
        case awaitingNumber
        /// Awaiting the peer's LMP_accepted for the local nonce.
        case awaitingAcceptance
        case awaitingUser
        /// The user has rejected; the peer is notified in response to its check.
        case refusing
    }

    private var session: PairingSession
    private var state: State
    private var commitment: [UInt8] = []
    /// The initiator's check, if it arrived before the local user has replied.
    private var check: LMPMessage?
    let kind = LinkManagement.Kind.pairing

    init(_ session: PairingSession) {
        self.session = session
        state = session.isInitiator ? .awaitingConfirm : .awaitingNumber
    }

    var isAwaitingPeer: Bool { if case .awaitingUser = state { false } else { true } }

    mutating func handle(_ event: LMPEvent, _ link: ACLLinkState) -> [LMPAction]? {
        switch event {
        case .start: return start()
        case .refused(let refusal): return session.fail(refusal)
        case .message(let message): return session.isFailure(message) ? session.fail() : take(message, link)
        case .hostReplied(.confirmsNumber(let isEqual)):
            guard case .awaitingUser = state else { return nil }
            return isEqual ? [.continueWith(DHKeyCheck(session, pending: check))] : refuse(link)
        default: return nil
        }
    }

    private mutating func start() -> [LMPAction] {
        session.drawNonce()
        guard !session.isInitiator else { return [] }
        let commitment = session.computation.commitment(isOwn: true, nonce: session.ownNonce, z: 0)
        return [.send(LMP.SimplePairingConfirm(commitmentValue: commitment.littleEndianOctets), session.transaction)]
    }

    private var number: LMPAction {
        .send(LMP.SimplePairingNumber(nonceValue: session.ownNonce.littleEndianOctets), session.transaction)
    }

    private mutating func take(_ message: LMPMessage, _ link: ACLLinkState) -> [LMPAction]? {
        switch (message.pdu, state) {
        case (.simplePairingConfirm(let pdu), .awaitingConfirm):
            commitment = pdu.commitmentValue
            state = .awaitingAcceptance
            return [number]
        case (_, .awaitingAcceptance) where message.accepts(LMP.SimplePairingNumber.self):
            guard session.isInitiator else { return ask() }
            state = .awaitingNumber
            return []
        case (.simplePairingNumber(let pdu), .awaitingNumber): return take(number: UInt128(littleEndianOctets: pdu.nonceValue), link)
        case (.dhKeyCheck, .awaitingUser) where !session.isInitiator && check == nil:
            check = message
            return []
        case (.dhKeyCheck, .refusing): return [.reject(LMP.DHKeyCheck.self, .authenticationFailure, session.transaction)] + session.fail()
        default: return nil
        }
    }

    private mutating func take(number nonce: UInt128, _ link: ACLLinkState) -> [LMPAction] {
        session.peerNonce = nonce
        let accept = LMPAction.accept(LMP.SimplePairingNumber.self, session.transaction)
        guard session.isInitiator else {
            state = .awaitingAcceptance
            return [accept, number]
        }
        let isKept = session.computation.commitment(isOwn: false, nonce: nonce, z: 0).littleEndianOctets == commitment
        guard isKept || link.settings.quirks.contains(.takesAnyCommitment) else {
            return [.reject(LMP.SimplePairingNumber.self, .authenticationFailure, session.transaction)] + session.fail()
        }
        return [accept] + ask()
    }

    /// Asks the host to confirm the number, even with Just Works. Core Vol 4, Part E, 7.7.42.
    private mutating func ask() -> [LMPAction] {
        state = .awaitingUser
        return [
            .report(
                .userConfirmationRequested(
                    session.computation.comparedNumber(
                        isInitiator: session.isInitiator, own: session.ownNonce, peer: session.peerNonce)))
        ]
    }

    private mutating func refuse(_ link: ACLLinkState) -> [LMPAction] {
        if session.isInitiator { return [.send(LMP.NumericComparisonFailed(), session.transaction)] + session.fail() }
        state = .refusing
        guard let check else { return [] }
        self.check = nil
        return take(check, link) ?? []
    }
}
