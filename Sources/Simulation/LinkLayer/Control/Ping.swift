import Packets

/// LE ping, by either side. Core Vol 6, Part B, 5.1.8.
struct LocalPing: LocalProcedure {
    var kind: ProcedureKind { .ping }
    let isAwaitingPeer = true

    mutating func start(_ context: ProcedureContext) -> [ProcedureAction] {
        context.peerLacks(.lePing) ? [.finish] : [.send(LLControl.PingReq())]
    }

    mutating func received(_ message: LLControl.Message, _ context: ProcedureContext) -> [ProcedureAction]? {
        guard case .pingRsp = message else { return nil }
        return [.finish]
    }

    mutating func refused(_ opcode: UInt8?, _ reason: ErrorCode, _ context: ProcedureContext) -> [ProcedureAction]? {
        opcode == nil || opcode == LLControl.PingReq.opcode ? [.finish] : nil
    }
}

struct RemotePing: LinkProcedure {
    var kind: ProcedureKind { .ping }
    let isAwaitingPeer = false

    mutating func received(_ message: LLControl.Message, _ context: ProcedureContext) -> [ProcedureAction]? {
        guard case .pingReq = message else { return nil }
        return [.send(LLControl.PingRsp()), .finish]
    }
}
