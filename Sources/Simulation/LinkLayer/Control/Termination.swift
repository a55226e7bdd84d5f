import BBPackets

/// ACL Termination procedure, started by either device. Core Vol 6, Part B, 5.1.6.
struct LocalTermination: LinkProcedure {
    let reason: ErrorCode
    let kind = LinkLayerControl.Kind.termination
    let isAwaitingPeer = true

    init(_ reason: ErrorCode) { self.reason = reason }

    /// Time to wait for the acknowledgement: the supervision timeout. The link ends then.
    func timeout(_ link: LinkState) -> Microseconds { link.timing.supervisionTimeout }

    mutating func handle(_ event: LinkEvent, _ link: LinkState) -> [LinkAction]? {
        switch event {
        case .start: [.send(LLControl.TerminateInd(errorCode: reason))]
        case .acknowledged(LLControl.TerminateInd.opcode), .timedOut: [.disconnect(.connectionTerminatedByLocalHost)]
        default: nil
        }
    }
}

/// The link ends once LL_TERMINATE_IND is acknowledged.
struct RemoteTermination: LinkProcedure {
    private(set) var reason: ErrorCode?
    let kind = LinkLayerControl.Kind.termination

    mutating func handle(_ event: LinkEvent, _ link: LinkState) -> [LinkAction]? {
        switch event {
        case .message(.terminateInd(let pdu)):
            reason = pdu.errorCode
            return []
        case .acknowledgementSent: return reason.map { [.disconnect($0)] }
        default: return nil
        }
    }
}
