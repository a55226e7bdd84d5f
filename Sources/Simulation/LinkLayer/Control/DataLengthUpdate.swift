import BBPackets

/// Data Length Update procedure, started by either device. Core Vol 6, Part B, 5.1.9.
struct LocalDataLengthUpdate: LinkProcedure {
    let kind = LinkLayerControl.Kind.dataLength
    let isAwaitingPeer = true

    mutating func handle(_ event: LinkEvent, _ link: LinkState) -> [LinkAction]? {
        switch event {
        case .start:
            guard link.configuration.features.contains(.leDataPacketLengthExtension), !link.peer.lacks(.leDataPacketLengthExtension)
            else { return [.finish] }
            let own = link.lengths.told(link.peer)
            return [
                .send(
                    LLControl.LengthReq(
                        maxRxOctets: own.maxRxOctets, maxRxTime: own.maxRxTime, maxTxOctets: own.maxTxOctets, maxTxTime: own.maxTxTime))
            ]
        case .message(.lengthRsp(let pdu)):
            let reported = DataLength(
                maxTxOctets: pdu.maxTxOctets, maxTxTime: pdu.maxTxTime, maxRxOctets: pdu.maxRxOctets, maxRxTime: pdu.maxRxTime)
            return [.change(.peerLengths(reported)), .finish]
        case .refused(let refusal) where refusal.concerns(LLControl.LengthReq.opcode): return [.finish]
        default: return nil
        }
    }
}

struct RemoteDataLengthUpdate: LinkProcedure {
    let kind = LinkLayerControl.Kind.dataLength

    mutating func handle(_ event: LinkEvent, _ link: LinkState) -> [LinkAction]? {
        guard case .message(.lengthReq(let pdu)) = event else { return nil }
        let reported = DataLength(
            maxTxOctets: pdu.maxTxOctets, maxTxTime: pdu.maxTxTime, maxRxOctets: pdu.maxRxOctets, maxRxTime: pdu.maxRxTime)
        var own = link.lengths.told(link.peer)
        if let octets = link.configuration.quirks.dataLengthAnswer {
            let time = octets * 8 + 112
            own = DataLength(maxTxOctets: octets, maxTxTime: time, maxRxOctets: octets, maxRxTime: time)
        }
        let answer = LLControl.LengthRsp(
            maxRxOctets: own.maxRxOctets, maxRxTime: own.maxRxTime, maxTxOctets: own.maxTxOctets, maxTxTime: own.maxTxTime)
        return [.send(answer), .change(.peerLengths(reported)), .finish]
    }
}
