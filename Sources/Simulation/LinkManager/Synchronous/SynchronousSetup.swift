import BBPackets

/// Negotiation of a synchronous transport: offers are exchanged until one device accepts or gives up. Only the central knows the free
/// slots, so it returns a peripheral's offer with slots assigned. Core Vol 2, Part C, 4.6.1 and 4.6.2.
struct SynchronousSetup: LMPProcedure {
    private enum State {
        /// Awaiting the first offer of the peer, which initiated.
        case awaitingOffer
        /// Awaiting the local host's reply to the offer.
        case awaitingHost(SynchronousOffer)
        /// Awaiting the peer's response to the local offer.
        case awaitingAnswer(SynchronousOffer)
        /// Awaiting the acknowledgement of LMP_accepted.
        case awaitingAcknowledgement(SynchronousOffer)
    }

    /// Maximum number of offers by the local device.
    private static let mostOffers = 4

    /// Nil until the host has replied.
    private var wanted: SynchronousRequest?
    private let isLocal: Bool
    private var transaction = LMPTransaction.central
    private var state = State.awaitingOffer
    private var offers = 0
    let kind = LinkManagement.Kind.synchronous

    /// Setup initiated by the local host; eSCO is tried first.
    init(_ wanted: SynchronousRequest) {
        self.wanted = wanted
        isLocal = true
    }

    /// Setup initiated by the peer.
    init() { isLocal = false }

    var isAwaitingPeer: Bool { if case .awaitingHost = state { false } else { true } }

    mutating func handle(_ event: LMPEvent, _ link: ACLLinkState) -> [LMPAction]? {
        switch event {
        case .start: return begin(link)
        case .message(let message): return take(message, link)
        case .hostReplied(let reply): return hostReplied(reply, link)
        case .refused(let refusal) where refusal.concerns(LMP.EscoLinkReq.self) || refusal.concerns(LMP.ScoLinkReq.self):
            return refused(refusal.reason, link)
        case .acknowledged(let header) where header.opcode == LMP.Accepted.opcode || header.opcode == LMP.AcceptedExt.opcode:
            guard case .awaitingAcknowledgement(let offer) = state else { return nil }
            return made(offer, link)
        default: return nil
        }
    }

    private mutating func begin(_ link: ACLLinkState) -> [LMPAction]? {
        guard let wanted else { return nil }
        transaction = link.ownTransaction
        guard let offer = wanted.offer(isExtended: true, link) ?? wanted.offer(isExtended: false, link) else {
            return [.report(.synchronousFailed(isExtended: true, wanted.impediment(link))), .finish]
        }
        return propose(offer, isAnswer: false)
    }

    /// Tries SCO if the peer does not accept eSCO.
    private mutating func refused(_ reason: ErrorCode, _ link: ACLLinkState) -> [LMPAction]? {
        guard case .awaitingAnswer(let refused) = state else { return nil }
        let isDecided: Set<ErrorCode> = [
            .connectionRejectedDueToLimitedResources, .connectionRejectedDueToSecurityReasons,
            .connectionRejectedDueToUnacceptableBDADDR, .connectionAcceptTimeoutExceeded, .lmpErrorTransactionCollision,
            .differentTransactionCollision, .scoAirModeRejected,
        ]
        guard isLocal, refused.isExtended, !isDecided.contains(reason), let offer = wanted?.offer(isExtended: false, link) else {
            return [.report(.synchronousFailed(isExtended: refused.isExtended, reason)), .finish]
        }
        return propose(offer, isAnswer: false)
    }

    private mutating func propose(_ offer: SynchronousOffer, isAnswer: Bool) -> [LMPAction] {
        offers += 1
        state = .awaitingAnswer(offer)
        return [offer.request(transaction, isAnswer: isAnswer)]
    }

    private mutating func take(_ message: LMPMessage, _ link: ACLLinkState) -> [LMPAction]? {
        let offer = SynchronousOffer(message.pdu)
        switch state {
        case .awaitingOffer:
            transaction = message.transaction
            guard let offer, offer.isLegal, !offer.isKnown(to: link) else {
                return [Self.refusal(of: message, .invalidLMPParameters), .finish]
            }
            state = .awaitingHost(offer)
            return [.report(.synchronousRequested(isExtended: offer.isExtended))]
        case .awaitingHost, .awaitingAcknowledgement: return nil
        case .awaitingAnswer(let own):
            if own.isExtended ? message.accepts(LMP.EscoLinkReq.self) : message.accepts(LMP.ScoLinkReq.self) { return made(own, link) }
            guard let offer else { return Self.isOffer(message) ? fail(own, message) : nil }
            guard offer.isExtended == own.isExtended, offer.isLegal, !offer.isKnown(to: link) else { return fail(own, message) }
            return consider(offer, link)
        }
    }

    private mutating func hostReplied(_ reply: ACLReply, _ link: ACLLinkState) -> [LMPAction]? {
        guard case .awaitingHost(let offer) = state else { return nil }
        switch reply {
        case .acceptsSynchronous(let wanted):
            self.wanted = wanted
            return consider(offer, link)
        case .refusesSynchronous(let reason):
            return give(up: offer, reason)
        default: return nil
        }
    }

    /// Handles an offer of the peer: accepts it, assigns slots of the local piconet, or responds with a better offer.
    private mutating func consider(_ offer: SynchronousOffer, _ link: ACLLinkState) -> [LMPAction] {
        guard let wanted else { return [.finish] }
        if let objection = wanted.objection(to: offer, link) {
            guard objection != .scoAirModeRejected, offers < Self.mostOffers, let better = wanted.offer(isExtended: offer.isExtended, link)
            else { return give(up: offer, objection) }
            return propose(better.inPlace(of: offer, link), isAnswer: true)
        }
        guard link.role == .central else {
            state = .awaitingAcknowledgement(offer)
            return [offer.acceptance(transaction)]
        }
        guard offers < Self.mostOffers, let placed = link.placed(offer) else {
            return give(up: offer, .connectionRejectedDueToLimitedResources)
        }
        return propose(placed, isAnswer: false)
    }

    private func made(_ offer: SynchronousOffer, _ link: ACLLinkState) -> [LMPAction] {
        let parameters = offer.parameters(for: link.role)
        return [.baseband(.synchronous(id: offer.id, parameters)), .report(.synchronousMade(id: offer.id, parameters)), .finish]
    }

    private func give(up offer: SynchronousOffer, _ reason: ErrorCode) -> [LMPAction] {
        [offer.refusal(reason, transaction), .report(.synchronousFailed(isExtended: offer.isExtended, reason)), .finish]
    }

    /// Fails because the response to an offer is invalid.
    private func fail(_ own: SynchronousOffer, _ message: LMPMessage) -> [LMPAction] {
        let reason = ErrorCode.invalidLMPParameters
        return [Self.refusal(of: message, reason), .report(.synchronousFailed(isExtended: own.isExtended, reason)), .finish]
    }

    private static func refusal(of message: LMPMessage, _ reason: ErrorCode) -> LMPAction { .send(message.header.refusal(reason)) }

    private static func isOffer(_ message: LMPMessage) -> Bool {
        switch message.pdu {
        case .scoLinkReq, .escoLinkReq: true
        default: false
        }
    }
}

extension SynchronousOffer {
    /// True if the offer is for an existing transport, whose parameters are kept. A central's offer has a handle, too.
    fileprivate func isKnown(to link: ACLLinkState) -> Bool {
        link.synchronous[id] != nil || (link.role == .peripheral && (id == 0 || (isExtended && !(1...7).contains(ltAddr))))
    }

    /// Keeps handle, LT_ADDR and slots that only the central can assign.
    fileprivate func inPlace(of offer: SynchronousOffer, _ link: ACLLinkState) -> SynchronousOffer {
        guard link.role == .peripheral else { return self }
        var result = self
        (result.id, result.ltAddr, result.flags) = (offer.id, offer.ltAddr, offer.flags)
        result.offset = offer.offset < interval ? offer.offset : 0
        return result
    }
}

/// Ends a synchronous transport: LMP_remove_SCO_link_req or LMP_remove_eSCO_link_req. Core Vol 2, Part C, 4.6.1 and 4.6.2.
struct LocalSynchronousEnd: LMPProcedure {
    private let id: UInt8
    private let reason: ErrorCode
    let kind = LinkManagement.Kind.synchronous
    let isAwaitingPeer = true

    init(_ id: UInt8, _ reason: ErrorCode) {
        self.id = id
        self.reason = reason
    }

    mutating func handle(_ event: LMPEvent, _ link: ACLLinkState) -> [LMPAction]? {
        switch event {
        case .start:
            guard let parameters = link.synchronous[id] else { return [.finish] }
            let transaction = link.ownTransaction
            guard parameters.isExtended else { return [.send(LMP.RemoveScoLinkReq(scoHandle: id, errorCode: reason), transaction)] }
            return [.send(LMP.RemoveEscoLinkReq(escoHandle: id, errorCode: reason), transaction)]
        case .message(let message) where message.accepts(LMP.RemoveScoLinkReq.self) || message.accepts(LMP.RemoveEscoLinkReq.self):
            return end
        // Both devices end it at the same time.
        case .refused(let refusal) where refusal.concerns(LMP.RemoveScoLinkReq.self) || refusal.concerns(LMP.RemoveEscoLinkReq.self):
            return end
        default: return nil
        }
    }

    private var end: [LMPAction] {
        [.baseband(.synchronous(id: id, nil)), .report(.synchronousEnded(id: id, .connectionTerminatedByLocalHost)), .finish]
    }
}

/// End of a synchronous transport requested by the peer.
struct RemoteSynchronousEnd: LMPProcedure {
    let kind = LinkManagement.Kind.synchronous

    mutating func handle(_ event: LMPEvent, _ link: ACLLinkState) -> [LMPAction]? {
        guard case .message(let message) = event else { return nil }
        let (id, reason, isExtended): (UInt8, ErrorCode, Bool)
        switch message.pdu {
        case .removeScoLinkReq(let pdu): (id, reason, isExtended) = (pdu.scoHandle, pdu.errorCode, false)
        case .removeEscoLinkReq(let pdu): (id, reason, isExtended) = (pdu.escoHandle, pdu.errorCode, true)
        default: return nil
        }
        guard link.synchronous[id]?.isExtended == isExtended else {
            return [.send(message.header.refusal(.invalidLMPParameters)), .finish]
        }
        return [
            .send(message.header.acceptance), .baseband(.synchronous(id: id, nil)), .report(.synchronousEnded(id: id, reason)), .finish,
        ]
    }
}
