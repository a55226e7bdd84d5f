import BBPackets

/// LMP ping, initiated by either device. Core Vol 2, Part C, 4.1.13.
struct LocalLMPPing: LMPProcedure {
    let kind = LinkManagement.Kind.ping
    let isAwaitingPeer = true

    mutating func handle(_ event: LMPEvent, _ link: ACLLinkState) -> [LMPAction]? {
        switch event {
        case .start: return link.bothSupportPing ? [.send(LMP.PingReq(), link.ownTransaction)] : [.finish]
        case .message(let message):
            guard case .pingRes = message.pdu else { return nil }
            return [.finish]
        case .refused(let refusal) where refusal.concerns(LMP.PingReq.self): return [.finish]
        default: return nil
        }
    }
}

struct RemoteLMPPing: LMPProcedure {
    let kind = LinkManagement.Kind.ping

    mutating func handle(_ event: LMPEvent, _ link: ACLLinkState) -> [LMPAction]? {
        guard case .message(let message) = event else { return nil }
        return [.send(LMP.PingRes(), message.transaction), .finish]
    }
}
