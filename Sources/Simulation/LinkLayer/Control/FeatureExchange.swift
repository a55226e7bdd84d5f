import BBPackets

/// Feature Exchange procedure: LL_FEATURE_REQ from the central or LL_PERIPHERAL_FEATURE_REQ from the peripheral. Core Vol 6, Part B, 5.1.4.
struct LocalFeatureExchange: LinkProcedure {
    let kind = LinkLayerControl.Kind.features
    let isAwaitingPeer = true

    mutating func handle(_ event: LinkEvent, _ link: LinkState) -> [LinkAction]? {
        switch event {
        case .start: return start(link)
        case .message(.featureRsp(let pdu)):
            return [.change(.peerFeatures(pdu.featureSet)), .report(.features(pdu.featureSet, .success)), .finish]
        case .refused(let refusal)
        where refusal.opcode == LLControl.FeatureReq.opcode || refusal.opcode == LLControl.PeripheralFeatureReq.opcode:
            return end(link)
        default: return nil
        }
    }

    private func start(_ link: LinkState) -> [LinkAction] {
        let own = link.configuration.features
        let set = own.subtracting(.localOnly)
        switch link.role {
        case .central: return [.send(LLControl.FeatureReq(featureSet: set))]
        case .peripheral:
            guard own.contains(.peripheralInitiatedFeaturesExchange), !link.peer.lacks(.peripheralInitiatedFeaturesExchange) else {
                return end(link)
            }
            return [.send(LLControl.PeripheralFeatureReq(featureSet: set))]
        }
    }

    /// Succeeds with features known from before; otherwise the peer does not support the procedure.
    private func end(_ link: LinkState) -> [LinkAction] {
        if let known = link.peer.features { return [.report(.features(known, .success)), .finish] }
        return [.report(.features([], .unsupportedRemoteFeature)), .finish]
    }
}

struct RemoteFeatureExchange: LinkProcedure {
    let kind = LinkLayerControl.Kind.features

    mutating func handle(_ event: LinkEvent, _ link: LinkState) -> [LinkAction]? {
        let theirs: LEFeatures
        switch (event, link.role) {
        case (.message(.featureReq(let pdu)), .peripheral): theirs = pdu.featureSet
        case (.message(.peripheralFeatureReq(let pdu)), .central): theirs = pdu.featureSet
        default: return nil
        }
        // Octet 0 is the intersection of both feature sets, the other octets are the local features.
        let own = link.configuration.features.subtracting(.localOnly)
        let used = LEFeatures(rawValue: own.rawValue & (theirs.rawValue | ~0xFF))
        return [.change(.peerFeatures(theirs)), .send(LLControl.FeatureRsp(featureSet: used)), .finish]
    }
}
