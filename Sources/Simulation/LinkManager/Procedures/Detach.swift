import BBPackets

/// Detach by the local device. Core Vol 2, Part C, 4.1.2.
struct LocalDetach: LMPProcedure {
    let reason: ErrorCode
    let kind = LinkManagement.Kind.detach
    let isAwaitingPeer = true
    let holdsData = true

    init(_ reason: ErrorCode) { self.reason = reason }

    /// Time after which the link ends even without an acknowledgement.
    func timeout(_ link: ACLLinkState) -> Microseconds { link.pollTime * 6 }

    mutating func handle(_ event: LMPEvent, _ link: ACLLinkState) -> [LMPAction]? {
        switch event {
        case .start: [.send(LMP.Detach(errorCode: reason), link.ownTransaction)]
        case .acknowledged(let header) where header.opcode == LMP.Detach.opcode: [.disconnect(.connectionTerminatedByLocalHost)]
        case .timedOut: [.disconnect(.connectionTerminatedByLocalHost)]
        default: nil
        }
    }
}

/// Detach by the peer. The link is kept long enough for the peer to receive the acknowledgement. Core Vol 2, Part C, 4.1.2.
struct RemoteDetach: LMPProcedure {
    private(set) var reason = ErrorCode.success
    let kind = LinkManagement.Kind.detach
    let isAwaitingPeer = true
    let holdsData = true

    func timeout(_ link: ACLLinkState) -> Microseconds { link.pollTime * 3 }

    mutating func handle(_ event: LMPEvent, _ link: ACLLinkState) -> [LMPAction]? {
        switch event {
        case .message(let message):
            guard case .detach(let pdu) = message.pdu else { return nil }
            reason = pdu.errorCode
            return []
        case .timedOut: return [.disconnect(reason)]
        default: return nil
        }
    }
}

extension ACLLinkState {
    /// Maximum interval between exchanges: T_poll or T_sniff.
    var pollTime: Microseconds { NativeClock.slot * Int(max(pollInterval, sniff?.interval ?? 0)) }
}
