import BBPackets

/// Start of Secure Simple Pairing: the local device sends its IO capabilities. Core Vol 2, Part C, 4.2.7.1.
struct LocalIOCapabilities: LMPProcedure {
    private enum State {
        case awaitingHost
        case awaitingResponse(IOOffer)
    }

    private let transaction: LMPTransaction
    private var state = State.awaitingHost
    let kind = LinkManagement.Kind.pairing

    init(_ transaction: LMPTransaction) { self.transaction = transaction }

    var isAwaitingPeer: Bool { if case .awaitingResponse = state { true } else { false } }

    mutating func handle(_ event: LMPEvent, _ link: ACLLinkState) -> [LMPAction]? {
        switch (event, state) {
        case (.start, .awaitingHost): return [.report(.ioCapabilityRequested)]
        case (.hostReplied(.ioCapability(let offer)), .awaitingHost):
            state = .awaitingResponse(offer)
            let request = LMP.IOCapabilityReq(
                ioCapabilities: offer.capability, oobAuthenticationData: offer.hasOutOfBandData ? 1 : 0,
                authenticationRequirements: offer.requirements)
            return [.send(request, transaction)]
        case (.hostReplied(.noIOCapability(let reason)), .awaitingHost): return end(reason)
        case (.message(let message), .awaitingResponse(let own)):
            guard case .ioCapabilityRes(let pdu) = message.pdu else { return nil }
            let peer = IOOffer(
                capability: pdu.ioCapabilities, hasOutOfBandData: pdu.oobAuthenticationData == 1,
                requirements: pdu.authenticationRequirements)
            let session = PairingSession(isInitiator: true, transaction, own: own, peer: peer, link)
            return [.change(.streamTaken), .report(.ioCapabilityResponse(peer)), .continueWith(PublicKeyExchange(session))]
        case (.refused(let refusal), .awaitingResponse) where refusal.concerns(LMP.IOCapabilityReq.self): return end(refusal.reason)
        default: return nil
        }
    }

    private func end(_ status: ErrorCode) -> [LMPAction] {
        [.report(.simplePairingComplete(status)), .report(.authenticated(status)), .finish]
    }
}

/// The peer starts pairing with its IO capabilities; the local device responds with its own.
struct RemoteIOCapabilities: LMPProcedure {
    private var transaction = LMPTransaction.central
    private var peer: IOOffer?
    let kind = LinkManagement.Kind.pairing

    mutating func handle(_ event: LMPEvent, _ link: ACLLinkState) -> [LMPAction]? {
        switch event {
        case .message(let message) where peer == nil:
            guard case .ioCapabilityReq(let pdu) = message.pdu else { return nil }
            transaction = message.transaction
            let offer = IOOffer(
                capability: pdu.ioCapabilities, hasOutOfBandData: pdu.oobAuthenticationData == 1,
                requirements: pdu.authenticationRequirements)
            peer = offer
            return [.report(.ioCapabilityResponse(offer)), .report(.ioCapabilityRequested)]
        case .hostReplied(.ioCapability(let own)):
            guard let peer else { return nil }
            let session = PairingSession(isInitiator: false, transaction, own: own, peer: peer, link)
            let response = LMP.IOCapabilityRes(
                ioCapabilities: own.capability, oobAuthenticationData: own.hasOutOfBandData ? 1 : 0,
                authenticationRequirements: own.requirements)
            return [.change(.streamTaken), .send(response, transaction), .continueWith(PublicKeyExchange(session))]
        case .hostReplied(.noIOCapability(let reason)):
            return [
                .reject(LMP.IOCapabilityReq.self, reason, transaction), .report(.simplePairingComplete(.authenticationFailure)), .finish,
            ]
        default: return nil
        }
    }
}
