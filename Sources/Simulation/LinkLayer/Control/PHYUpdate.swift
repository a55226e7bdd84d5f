import BBPackets

/// PHY Update procedure, started by either device; the central decides. Core Vol 6, Part B, 5.1.10.
struct LocalPHYUpdate: LinkProcedure {
    enum State {
        case awaitingStart
        /// The central waits for LL_PHY_RSP, the peripheral for LL_PHY_UPDATE_IND.
        case awaitingAnswer
        case awaitingInstant
    }

    /// True for a change to LE 2M that the host has not requested; only a change is reported to it.
    var isOwn = false
    private(set) var state = State.awaitingStart
    private(set) var pendingParameters: PendingParameters?
    let kind = LinkLayerControl.Kind.phy
    var isAwaitingPeer: Bool { state == .awaitingAnswer }

    init(isOwn: Bool = false) { self.isOwn = isOwn }

    private func preference(_ link: LinkState) -> PHYPreference {
        isOwn ? PHYPreference(transmit: .le2M, receive: .le2M) : PHYPreference(link)
    }

    private func end(_ status: ErrorCode) -> [LinkAction] { isOwn ? [.finish] : [.report(.phy(status)), .finish] }

    mutating func handle(_ event: LinkEvent, _ link: LinkState) -> [LinkAction]? {
        switch (event, state, link.role) {
        case (.start, _, _):
            guard !link.peer.lacks([.le2MPHY, .leCodedPHY]) else { return end(.unsupportedRemoteFeature) }
            state = .awaitingAnswer
            let preference = preference(link)
            if link.role == .peripheral { pendingParameters = preference.pendingParameters }
            return [.send(LLControl.PHYReq(txPHYs: preference.transmit, rxPHYs: preference.receive))]
        case (.message(.phyRsp(let pdu)), .awaitingAnswer, .central):
            let peer = PHYPreference(transmit: pdu.txPHYs, receive: pdu.rxPHYs)
            let decision = PHYDecision(preference(link), peer: peer, link)
            guard decision.isChange else { return [decision.noChange] + end(.success) }
            state = .awaitingInstant
            pendingParameters = decision.pendingParameters(link.role)
            return decision.announcement(link)
        case (.message(.phyUpdateInd(let pdu)), .awaitingAnswer, .peripheral):
            guard let decision = PHYDecision(pdu, link) else { return [.report(.phy(.success)), .finish] }
            state = .awaitingInstant
            pendingParameters = decision.pendingParameters(link.role)
            return decision.acceptance(pdu, link)
        case (.refused(let refusal), .awaitingAnswer, _) where refusal.concerns(LLControl.PHYReq.opcode):
            return end(refusal.reason)
        case (.instantReached, _, _): return [.report(.phy(.success)), .finish]
        default: return nil
        }
    }
}

struct RemotePHYUpdate: LinkProcedure {
    enum State {
        case awaitingRequest
        /// The peripheral has replied and waits for LL_PHY_UPDATE_IND.
        case awaitingUpdate
        case awaitingInstant
    }

    private(set) var state = State.awaitingRequest
    private(set) var pendingParameters: PendingParameters?
    let kind = LinkLayerControl.Kind.phy
    var isAwaitingPeer: Bool { state == .awaitingUpdate }

    mutating func handle(_ event: LinkEvent, _ link: LinkState) -> [LinkAction]? {
        switch (event, state, link.role) {
        case (.message(.phyReq), .awaitingRequest, .peripheral):
            state = .awaitingUpdate
            let preference = PHYPreference(link, isAnswer: true)
            pendingParameters = preference.pendingParameters
            return [.send(LLControl.PHYRsp(txPHYs: preference.transmit, rxPHYs: preference.receive))]
        case (.message(.phyReq(let pdu)), .awaitingRequest, .central):
            let peer = PHYPreference(transmit: pdu.txPHYs, receive: pdu.rxPHYs)
            let decision = PHYDecision(PHYPreference(link, isAnswer: true), peer: peer, link)
            guard decision.isChange else { return [decision.noChange, .finish] }
            state = .awaitingInstant
            pendingParameters = decision.pendingParameters(link.role)
            return decision.announcement(link)
        case (.message(.phyUpdateInd(let pdu)), .awaitingUpdate, .peripheral):
            guard let decision = PHYDecision(pdu, link) else { return [.finish] }
            state = .awaitingInstant
            pendingParameters = decision.pendingParameters(link.role)
            return decision.acceptance(pdu, link)
        case (.instantReached(let isChanged), _, _): return isChanged ? [.report(.phy(.success)), .finish] : [.finish]
        default: return nil
        }
    }
}

/// PHYs that a device is willing to use.
struct PHYPreference {
    var transmit: PHYs
    var receive: PHYs

    /// PHYs for which a peripheral must be prepared after sending its preference. Core Vol 6, Part B, 5.1.10.1.
    var pendingParameters: PendingParameters { PendingParameters(transmitPHYs: transmit, receivePHYs: receive) }

    /// The single PHY named for both directions; the central then changes both directions or neither. Core Vol 6, Part B, 5.1.10.
    var symmetric: PHY? { transmit == receive ? PHY.allCases.first { $0.flag == transmit } : nil }
}

extension PHYPreference {
    /// The local preference: the supported PHYs that the host prefers.
    ///
    /// - Parameter isAnswer: true in a response to the peer, where an injected fault may replace it.
    init(_ link: LinkState, isAnswer: Bool = false) {
        let supported = link.supportedPHYs
        func possible(_ preferred: PHYs) -> PHYs {
            let possible = preferred.intersection(supported)
            return possible.isEmpty ? supported : possible
        }
        let configuration = link.configuration
        let answer = isAnswer ? configuration.choices.answeredPHYs ?? configuration.quirks.phyAnswer : nil
        self.init(transmit: answer ?? possible(link.phys.preferredTx), receive: answer ?? possible(link.phys.preferredRx))
    }
}

/// PHYs chosen from both preferences; nil keeps the PHY of a direction.
struct PHYDecision {
    var toPeripheral: PHY?
    var toCentral: PHY?
    /// True if LL_PHY_UPDATE_IND changes a PHY.
    var isChange: Bool { toPeripheral != nil || toCentral != nil }

    /// The central's decision.
    init(_ own: PHYPreference, peer: PHYPreference, _ link: LinkState) {
        let free = link.supportedPHYs
        toPeripheral = Self.choose(own.transmit.intersection(peer.receive), present: link.phys.transmit, free: free)
        toCentral = Self.choose(own.receive.intersection(peer.transmit), present: link.phys.receive, free: free)
        guard let both = peer.symmetric else { return }
        let isMet = (toPeripheral ?? link.phys.transmit) == both && (toCentral ?? link.phys.receive) == both
        if !isMet { (toPeripheral, toCentral) = (nil, nil) }
    }

    /// The fastest PHY that both devices prefer; nil if it is already in use or neither device has a preference.
    private static func choose(_ common: PHYs, present: PHY, free: PHYs) -> PHY? {
        guard common != free || free == .le1M else { return nil }
        let chosen = [PHY.le2M, .le1M, .leCoded].first { common.contains($0.flag) }
        return chosen == present ? nil : chosen
    }

    /// LL_PHY_UPDATE_IND without a change; it has no instant.
    var noChange: LinkAction { .send(LLControl.PHYUpdateInd(phyCToP: [], phyPToC: [], instant: 0)) }

    func announcement(_ link: LinkState) -> [LinkAction] {
        let instant = link.nextInstant
        let pdu = LLControl.PHYUpdateInd(
            phyCToP: toPeripheral?.flag ?? [], phyPToC: toCentral?.flag ?? [], instant: UInt16(truncatingIfNeeded: instant))
        return [.announce(pdu.bytes, .phys(transmit: toPeripheral, receive: toCentral), instant: instant)]
    }

    /// Decision in a received LL_PHY_UPDATE_IND; nil if it changes nothing.
    init?(_ pdu: LLControl.PHYUpdateInd, _ link: LinkState) {
        func phy(_ mask: PHYs) -> PHY? { PHY.allCases.first { mask == $0.flag && link.supportedPHYs.contains($0.flag) } }
        (toPeripheral, toCentral) = (phy(pdu.phyCToP), phy(pdu.phyPToC))
        if !isChange { return nil }
    }

    /// Effect of the decision on one device.
    func pendingParameters(_ role: ConnectionParameters.Role) -> PendingParameters {
        let (toPeripheral, toCentral) = (toPeripheral?.flag ?? [], toCentral?.flag ?? [])
        return role == .central
            ? PendingParameters(transmitPHYs: toPeripheral, receivePHYs: toCentral)
            : PendingParameters(transmitPHYs: toCentral, receivePHYs: toPeripheral)
    }

    /// The peripheral's actions on receiving LL_PHY_UPDATE_IND.
    func acceptance(_ pdu: LLControl.PHYUpdateInd, _ link: LinkState) -> [LinkAction] {
        guard let instant = link.optionalEvent(of: pdu.instant) else { return [.disconnect(.instantPassed)] }
        return [.schedule(.phys(transmit: toCentral, receive: toPeripheral), instant: instant)]
    }
}
