import Packets

/// Data length update, by either side. Core Vol 6, Part B, 5.1.9.
struct LocalDataLengthUpdate: LocalProcedure {
    var kind: ProcedureKind { .dataLength }
    let isAwaitingPeer = true

    mutating func start(_ context: ProcedureContext) -> [ProcedureAction] {
        guard context.ownFeatures.contains(.leDataPacketLengthExtension), !context.peerLacks(.leDataPacketLengthExtension) else {
            return [.finish]
        }
        let own = context.lengths.local
        return [
            .send(
                LLControl.LengthReq(
                    maxRxOctets: own.maxRxOctets, maxRxTime: own.maxRxTime, maxTxOctets: own.maxTxOctets, maxTxTime: own.maxTxTime))
        ]
    }

    mutating func received(_ message: LLControl.Message, _ context: ProcedureContext) -> [ProcedureAction]? {
        guard case .lengthRsp(let pdu) = message else { return nil }
        let told = DataLength(
            maxTxOctets: pdu.maxTxOctets, maxTxTime: pdu.maxTxTime, maxRxOctets: pdu.maxRxOctets, maxRxTime: pdu.maxRxTime)
        return [.change(.peerLengths(told)), .finish]
    }

    mutating func refused(_ opcode: UInt8?, _ reason: ErrorCode, _ context: ProcedureContext) -> [ProcedureAction]? {
        opcode == nil || opcode == LLControl.LengthReq.opcode ? [.finish] : nil
    }
}

struct RemoteDataLengthUpdate: LinkProcedure {
    var kind: ProcedureKind { .dataLength }
    let isAwaitingPeer = false

    mutating func received(_ message: LLControl.Message, _ context: ProcedureContext) -> [ProcedureAction]? {
        guard case .lengthReq(let pdu) = message else { return nil }
        let told = DataLength(
            maxTxOctets: pdu.maxTxOctets, maxTxTime: pdu.maxTxTime, maxRxOctets: pdu.maxRxOctets, maxRxTime: pdu.maxRxTime)
        var own = context.lengths.local
        if let octets = context.quirks.dataLengthAnswer {
            let time = octets * 8 + 112
            own = DataLength(maxTxOctets: octets, maxTxTime: time, maxRxOctets: octets, maxRxTime: time)
        }
        let answer = LLControl.LengthRsp(
            maxRxOctets: own.maxRxOctets, maxRxTime: own.maxRxTime, maxTxOctets: own.maxTxOctets, maxTxTime: own.maxTxTime)
        return [.send(answer), .change(.peerLengths(told)), .finish]
    }
}
