import Packets

/// PHY update, by either side; the central decides. Core Vol 6, Part B, 5.1.10.
struct LocalPHYUpdate: LocalProcedure {
    enum State {
        case awaitingStart
        /// The central waits for LL_PHY_RSP, the peripheral for LL_PHY_UPDATE_IND.
        case awaitingAnswer
        case awaitingInstant
    }

    private(set) var state = State.awaitingStart
    var kind: ProcedureKind { .phy }
    var isAwaitingPeer: Bool { state == .awaitingAnswer }

    mutating func start(_ context: ProcedureContext) -> [ProcedureAction] {
        guard !context.peerLacks([.le2MPHY, .leCodedPHY]) else { return [.tell(.phy(.unsupportedRemoteFeature)), .finish] }
        state = .awaitingAnswer
        let wish = PHYWish(context)
        return [.send(LLControl.PHYReq(txPHYS: wish.transmit, rxPHYS: wish.receive))]
    }

    mutating func received(_ message: LLControl.Message, _ context: ProcedureContext) -> [ProcedureAction]? {
        guard state == .awaitingAnswer else { return nil }
        switch (message, context.role) {
        case (.phyRsp(let pdu), .central):
            let decision = PHYDecision(PHYWish(context), peer: PHYWish(transmit: pdu.txPHYS, receive: pdu.rxPHYS), context)
            return decide(decision, context)
        case (.phyUpdateInd(let pdu), .peripheral):
            guard let actions = PHYDecision.acceptance(pdu, context) else { return [.tell(.phy(.success)), .finish] }
            state = .awaitingInstant
            return actions
        default: return nil
        }
    }

    private mutating func decide(_ decision: PHYDecision, _ context: ProcedureContext) -> [ProcedureAction] {
        guard decision.changes else { return [decision.none, .tell(.phy(.success)), .finish] }
        state = .awaitingInstant
        return decision.announcement(context)
    }

    mutating func refused(_ opcode: UInt8?, _ reason: ErrorCode, _ context: ProcedureContext) -> [ProcedureAction]? {
        guard state == .awaitingAnswer, opcode == nil || opcode == LLControl.PHYReq.opcode else { return nil }
        return [.tell(.phy(reason)), .finish]
    }

    mutating func instantReached(changed: Bool, _ context: ProcedureContext) -> [ProcedureAction] { [.tell(.phy(.success)), .finish] }
}

struct RemotePHYUpdate: LinkProcedure {
    enum State {
        case awaitingRequest
        /// The peripheral has answered.
        case awaitingUpdate
        case awaitingInstant
    }

    private(set) var state = State.awaitingRequest
    var kind: ProcedureKind { .phy }
    var isAwaitingPeer: Bool { state == .awaitingUpdate }

    mutating func received(_ message: LLControl.Message, _ context: ProcedureContext) -> [ProcedureAction]? {
        switch (message, state, context.role) {
        case (.phyReq, .awaitingRequest, .peripheral):
            state = .awaitingUpdate
            let wish = PHYWish(context, answers: true)
            return [.send(LLControl.PHYRsp(txPHYS: wish.transmit, rxPHYS: wish.receive))]
        case (.phyReq(let pdu), .awaitingRequest, .central):
            let decision = PHYDecision(PHYWish(context, answers: true), peer: PHYWish(transmit: pdu.txPHYS, receive: pdu.rxPHYS), context)
            guard decision.changes else { return [decision.none, .finish] }
            state = .awaitingInstant
            return decision.announcement(context)
        case (.phyUpdateInd(let pdu), .awaitingUpdate, .peripheral):
            guard let actions = PHYDecision.acceptance(pdu, context) else { return [.finish] }
            state = .awaitingInstant
            return actions
        default: return nil
        }
    }

    mutating func instantReached(changed: Bool, _ context: ProcedureContext) -> [ProcedureAction] {
        changed ? [.tell(.phy(.success)), .finish] : [.finish]
    }
}

/// The PHYs a side is willing to use.
struct PHYWish {
    var transmit: PHYs
    var receive: PHYs
}

extension PHYWish {
    /// This side's: what its host prefers of what it supports.
    ///
    /// - Parameter answers: whether the other side began, to which a planted fault may answer something else.
    init(_ context: ProcedureContext, answers: Bool = false) {
        let supported = context.supportedPHYs
        func wish(_ preferred: PHYs) -> PHYs {
            let possible = preferred.intersection(supported)
            return possible.isEmpty ? supported : possible
        }
        let answer = answers ? context.quirks.phyAnswer : nil
        self.init(transmit: answer ?? wish(context.preferredTxPHYs), receive: answer ?? wish(context.preferredRxPHYs))
    }
}

/// What a central makes of both sides' wishes; nil leaves a direction as it is.
struct PHYDecision {
    var toPeripheral: PHY?
    var toCentral: PHY?
    /// Whether LL_PHY_UPDATE_IND changes anything.
    var changes: Bool { toPeripheral != nil || toCentral != nil }

    init(_ own: PHYWish, peer: PHYWish, _ context: ProcedureContext) {
        let free = context.supportedPHYs
        toPeripheral = Self.choose(own.transmit.intersection(peer.receive), present: context.transmitPHY, free: free)
        toCentral = Self.choose(own.receive.intersection(peer.transmit), present: context.receivePHY, free: free)
    }

    /// The fastest PHY both want; none when the present one is in use already, or neither side has a preference.
    private static func choose(_ common: PHYs, present: PHY, free: PHYs) -> PHY? {
        guard common != free || free == .le1M else { return nil }
        let chosen = [PHY.le2M, .le1M, .leCoded].first { common.contains($0.flag) }
        return chosen == present ? nil : chosen
    }

    /// LL_PHY_UPDATE_IND for the case that nothing changes; it has no instant.
    var none: ProcedureAction { .send(LLControl.PHYUpdateInd(phyCTOP: [], phyPTOC: [], instant: 0)) }

    func announcement(_ context: ProcedureContext) -> [ProcedureAction] {
        let event = context.instant
        let pdu = LLControl.PHYUpdateInd(
            phyCTOP: toPeripheral?.flag ?? [], phyPTOC: toCentral?.flag ?? [], instant: UInt16(truncatingIfNeeded: event))
        return [.send(pdu), .schedule(.phys(transmit: toPeripheral, receive: toCentral), event: event)]
    }

    /// What a peripheral does on LL_PHY_UPDATE_IND; nil when nothing is to change.
    static func acceptance(_ pdu: LLControl.PHYUpdateInd, _ context: ProcedureContext) -> [ProcedureAction]? {
        func phy(_ mask: PHYs) -> PHY? { PHY.allCases.first { mask == $0.flag && context.supportedPHYs.contains($0.flag) } }
        let (receive, transmit) = (phy(pdu.phyCTOP), phy(pdu.phyPTOC))
        guard receive != nil || transmit != nil else { return nil }
        guard let event = context.event(of: pdu.instant) else { return [.disconnect(.instantPassed)] }
        return [.schedule(.phys(transmit: transmit, receive: receive), event: event)]
    }
}
