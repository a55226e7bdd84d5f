import Packets

/// Feature exchange: LL_FEATURE_REQ of the central or LL_PERIPHERAL_FEATURE_REQ of the peripheral. Core Vol 6, Part B, 5.1.4.
struct LocalFeatureExchange: LocalProcedure {
    var kind: ProcedureKind { .features }
    let isAwaitingPeer = true

    mutating func start(_ context: ProcedureContext) -> [ProcedureAction] {
        let own = context.ownFeatures.subtracting(.localOnly)
        switch context.role {
        case .central: return [.send(LLControl.FeatureReq(featureSet: own))]
        case .peripheral:
            guard context.ownFeatures.contains(.peripheralInitiatedFeaturesExchange),
                !context.peerLacks(.peripheralInitiatedFeaturesExchange)
            else { return Self.end(context) }
            return [.send(LLControl.PeripheralFeatureReq(featureSet: own))]
        }
    }

    mutating func received(_ message: LLControl.Message, _ context: ProcedureContext) -> [ProcedureAction]? {
        guard case .featureRsp(let pdu) = message else { return nil }
        return [.change(.peerFeatures(pdu.featureSet)), .tell(.features(pdu.featureSet, .success)), .finish]
    }

    mutating func refused(_ opcode: UInt8?, _ reason: ErrorCode, _ context: ProcedureContext) -> [ProcedureAction]? {
        guard opcode == LLControl.FeatureReq.opcode || opcode == LLControl.PeripheralFeatureReq.opcode else { return nil }
        return Self.end(context)
    }

    /// What is known already will do; otherwise the other side lacks the procedure.
    private static func end(_ context: ProcedureContext) -> [ProcedureAction] {
        if let known = context.peerFeatures { return [.tell(.features(known, .success)), .finish] }
        return [.tell(.features([], .unsupportedRemoteFeature)), .finish]
    }
}

struct RemoteFeatureExchange: LinkProcedure {
    var kind: ProcedureKind { .features }
    let isAwaitingPeer = false

    mutating func received(_ message: LLControl.Message, _ context: ProcedureContext) -> [ProcedureAction]? {
        let theirs: LEFeatures
        switch (message, context.role) {
        case (.featureReq(let pdu), .peripheral): theirs = pdu.featureSet
        case (.peripheralFeatureReq(let pdu), .central): theirs = pdu.featureSet
        default: return nil
        }
        // The first octet is what both support, the rest what this side does.
        let own = context.ownFeatures.subtracting(.localOnly)
        let used = LEFeatures(rawValue: own.rawValue & (theirs.rawValue | ~0xFF))
        return [.change(.peerFeatures(theirs)), .send(LLControl.FeatureRsp(featureSet: used)), .finish]
    }
}
