import BBPackets

/// LE Ping procedure, started by either device. Core Vol 6, Part B, 5.1.8.
struct LocalPing: LinkProcedure {
    let kind = LinkLayerControl.Kind.ping
    let isAwaitingPeer = true

    mutating func handle(_ event: LinkEvent, _ link: LinkState) -> [LinkAction]? {
        switch event {
        case .start: link.peer.lacks(.lePing) ? [.finish] : [.send(LLControl.PingReq())]
        case .message(.pingRsp): [.finish]
        case .refused(let refusal) where refusal.concerns(LLControl.PingReq.opcode): [.finish]
        default: nil
        }
    }
}

struct RemotePing: LinkProcedure {
    let kind = LinkLayerControl.Kind.ping

    mutating func handle(_ event: LinkEvent, _ link: LinkState) -> [LinkAction]? {
        guard case .message(.pingReq) = event else { return nil }
        return [.send(LLControl.PingRsp()), .finish]
    }
}
