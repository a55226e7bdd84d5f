import BBPackets

/// Authentication stage 2: both devices verify the exchanged values with DHKey checks and derive the link key. Core Vol 2, Part C, 4.2.7.4.
struct DHKeyCheck: LMPProcedure {
    private enum State {
        case awaitingAcceptance
        case awaitingCheck
    }

    private let session: PairingSession
    private var state: State
    /// The initiator's check, if it arrived before the local user had replied.
    private let pending: LMPMessage?
    let kind = LinkManagement.Kind.pairing
    let isAwaitingPeer = true

    init(_ session: PairingSession, pending: LMPMessage?) {
        self.session = session
        self.pending = pending
        state = session.isInitiator ? .awaitingAcceptance : .awaitingCheck
    }

    mutating func handle(_ event: LMPEvent, _ link: ACLLinkState) -> [LMPAction]? {
        switch (event, state) {
        case (.start, _): return session.isInitiator ? [check] : pending.map { take($0, link) ?? [] } ?? []
        case (.refused(let refusal), _): return session.fail(refusal)
        case (.message(let message), .awaitingAcceptance) where message.accepts(LMP.DHKeyCheck.self):
            guard session.isInitiator else { return end() }
            state = .awaitingCheck
            return []
        case (.message(let message), .awaitingCheck): return session.isFailure(message) ? session.fail() : take(message, link)
        default: return nil
        }
    }

    private var check: LMPAction { .send(LMP.DHKeyCheck(confirmationValue: session.check(isOwn: true)), session.transaction) }

    private mutating func take(_ message: LMPMessage, _ link: ACLLinkState) -> [LMPAction]? {
        guard case .dhKeyCheck(let pdu) = message.pdu else { return nil }
        guard pdu.confirmationValue == session.check(isOwn: false) || link.settings.quirks.contains(.takesAnyCheck) else {
            return [.reject(LMP.DHKeyCheck.self, .authenticationFailure, session.transaction)] + session.fail()
        }
        let accept = LMPAction.accept(LMP.DHKeyCheck.self, session.transaction)
        guard !session.isInitiator else { return [accept] + end() }
        state = .awaitingAcceptance
        return [accept, check]
    }

    /// Ends the pairing and continues with the authentication of the new key, before the hosts get it. Core Vol 2, Part C, 4.2.7.5.
    private func end() -> [LMPAction] {
        let authentication: any LMPProcedure =
            session.isInitiator
            ? LocalAuthentication(.paired(session.keyType), session.transaction) : RemoteAuthentication(.paired(session.keyType))
        return [.report(.simplePairingComplete(.success)), .change(.linkKey(session.linkKey)), .continueWith(authentication)]
    }
}
