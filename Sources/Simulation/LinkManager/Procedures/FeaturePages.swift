import BBPackets

/// Requests a page of the peer's features with LMP_features_req, or LMP_features_req_ext from page 1 on. Core Vol 2, Part C, 4.3.4.
struct LocalFeaturePage: LMPProcedure {
    let page: UInt8
    /// Uses the form of Read_Remote_Extended_Features, which includes page 0.
    let isExtended: Bool
    /// True if the host gets the result.
    let isReported: Bool
    let kind = LinkManagement.Kind.features
    let isAwaitingPeer = true

    init(page: UInt8 = 0, isExtended: Bool = false, isReported: Bool) {
        self.page = page
        self.isExtended = isExtended || page > 0
        self.isReported = isReported
    }

    mutating func handle(_ event: LMPEvent, _ link: ACLLinkState) -> [LMPAction]? {
        switch event {
        case .start: return start(link)
        case .message(let message):
            switch message.pdu {
            case .featuresRes(let pdu) where !isExtended:
                return [.change(.peerFeatures(page: 0, pdu.features, highest: nil))] + end(pdu.features, 0)
            case .featuresResExt(let pdu) where isExtended && pdu.featuresPage == page:
                let features = pdu.extendedFeatures
                return [.change(.peerFeatures(page: page, features, highest: pdu.maxSupportedPage))] + end(features, pdu.maxSupportedPage)
            default: return nil
            }
        case .refused(let refusal) where refusal.concerns(LMP.FeaturesReqExt.self) || refusal.concerns(LMP.FeaturesReq.self):
            return end(0, 0, refusal.reason)
        default: return nil
        }
    }

    private func start(_ link: ACLLinkState) -> [LMPAction] {
        if let known = link.peerPages[page], !isExtended || link.peerHighestPage != nil { return end(known, link.peerHighestPage ?? 0) }
        guard isExtended else { return [.send(LMP.FeaturesReq(features: link.settings.page(0)), link.ownTransaction)] }
        guard link.bothSupport(.extendedPages) else { return end(0, 0, .unsupportedRemoteFeature) }
        // A page beyond the peer's highest is known to be empty and is not requested during setup.
        if let highest = link.peerHighestPage, page > highest, !isReported { return [.finish] }
        return [.send(link.extendedFeaturesRequest(page), link.ownTransaction)]
    }

    private func end(_ features: UInt64, _ highest: UInt8, _ status: ErrorCode = .success) -> [LMPAction] {
        guard isReported else { return [.finish] }
        return [
            .report(
                isExtended
                    ? .extendedFeatures(page: page, highest: highest, features, status) : .features(features, status)), .finish,
        ]
    }
}

struct RemoteFeaturePage: LMPProcedure {
    let kind = LinkManagement.Kind.features

    mutating func handle(_ event: LMPEvent, _ link: ACLLinkState) -> [LMPAction]? {
        guard case .message(let message) = event else { return nil }
        switch message.pdu {
        case .featuresReq(let pdu):
            return [
                .change(.peerFeatures(page: 0, pdu.features, highest: nil)),
                .send(LMP.FeaturesRes(features: link.settings.page(0)), message.transaction), .finish,
            ]
        case .featuresReqExt(let pdu):
            let request = link.extendedFeaturesRequest(pdu.featuresPage)
            let response = LMP.FeaturesResExt(
                featuresPage: request.featuresPage, maxSupportedPage: request.maxSupportedPage, extendedFeatures: request.extendedFeatures)
            return [
                .change(.peerFeatures(page: pdu.featuresPage, pdu.extendedFeatures, highest: pdu.maxSupportedPage)),
                .send(response, message.transaction), .finish,
            ]
        default: return nil
        }
    }
}

extension ACLLinkState {
    fileprivate func extendedFeaturesRequest(_ page: UInt8) -> LMP.FeaturesReqExt {
        LMP.FeaturesReqExt(featuresPage: page, maxSupportedPage: settings.highestPage, extendedFeatures: settings.page(page))
    }
}
