import Packets

/// Channel map update by the central. Core Vol 6, Part B, 5.1.2.
struct LocalChannelMapUpdate: LocalProcedure {
    let map: ChannelMap
    var kind: ProcedureKind { .channelMap }
    let isAwaitingPeer = false

    init(_ map: ChannelMap) { self.map = map }

    mutating func start(_ context: ProcedureContext) -> [ProcedureAction] {
        let event = context.instant
        return [
            .send(LLControl.ChannelMapInd(chM: map.bits, instant: UInt16(truncatingIfNeeded: event))),
            .schedule(.channelMap(map), event: event),
        ]
    }

    mutating func received(_ message: LLControl.Message, _ context: ProcedureContext) -> [ProcedureAction]? { nil }
}

struct RemoteChannelMapUpdate: LinkProcedure {
    var kind: ProcedureKind { .channelMap }
    let isAwaitingPeer = false

    mutating func received(_ message: LLControl.Message, _ context: ProcedureContext) -> [ProcedureAction]? {
        guard case .channelMapInd(let pdu) = message, context.role == .peripheral else { return nil }
        let map = ChannelMap(pdu.chM)
        guard map.used.count >= 2 else { return nil }
        guard let event = context.event(of: pdu.instant) else { return [.disconnect(.instantPassed)] }
        return [.schedule(.channelMap(map), event: event)]
    }
}
