import BBPackets

/// Clock offset request by the central. Core Vol 2, Part C, 4.3.2.
struct LocalClockOffset: LMPProcedure {
    let kind = LinkManagement.Kind.clockOffset
    let isAwaitingPeer = true

    mutating func handle(_ event: LMPEvent, _ link: ACLLinkState) -> [LMPAction]? {
        switch event {
        case .start:
            // A peripheral computes the offset itself.
            guard link.role == .central else { return end(link.clockOffset, .success) }
            return [.send(LMP.ClkoffsetReq(), link.ownTransaction)]
        case .message(let message):
            guard case .clkoffsetRes(let pdu) = message.pdu else { return nil }
            return end(pdu.clockOffset, .success)
        case .refused(let refusal) where refusal.concerns(LMP.ClkoffsetReq.self): return end(0, refusal.reason)
        default: return nil
        }
    }

    private func end(_ offset: UInt16, _ status: ErrorCode) -> [LMPAction] { [.report(.clockOffset(offset, status)), .finish] }
}

struct RemoteClockOffset: LMPProcedure {
    let kind = LinkManagement.Kind.clockOffset

    mutating func handle(_ event: LMPEvent, _ link: ACLLinkState) -> [LMPAction]? {
        guard case .message(let message) = event else { return nil }
        return [.send(LMP.ClkoffsetRes(clockOffset: link.clockOffset), message.transaction), .finish]
    }
}
