import BBPackets

/// Version Exchange procedure, started by either device: each sends LL_VERSION_IND once per link. Core Vol 6, Part B, 5.1.5.
struct LocalVersionExchange: LinkProcedure {
    let kind = LinkLayerControl.Kind.version
    let isAwaitingPeer = true

    mutating func handle(_ event: LinkEvent, _ link: LinkState) -> [LinkAction]? {
        switch event {
        case .start:
            if let known = link.peer.version { return [.report(.version(known, .success)), .finish] }
            return link.sendsVersion
        case .message(.versionInd(let pdu)):
            let version = RemoteVersion(pdu)
            return [.change(.peerVersion(version)), .report(.version(version, .success)), .finish]
        case .refused(let refusal) where refusal.opcode == LLControl.VersionInd.opcode:
            let unknown = RemoteVersion(version: 0, companyIdentifier: 0, subversion: 0)
            return [.report(.version(unknown, refusal.reason)), .finish]
        default: return nil
        }
    }
}

struct RemoteVersionExchange: LinkProcedure {
    let kind = LinkLayerControl.Kind.version

    mutating func handle(_ event: LinkEvent, _ link: LinkState) -> [LinkAction]? {
        guard case .message(.versionInd(let pdu)) = event else { return nil }
        return [.change(.peerVersion(RemoteVersion(pdu)))] + link.sendsVersion + [.finish]
    }
}

extension LinkState {
    /// LL_VERSION_IND, unless it was sent before.
    fileprivate var sendsVersion: [LinkAction] {
        guard !hasSentVersion else { return [] }
        let pdu = LLControl.VersionInd(
            version: configuration.version, companyIdentifier: configuration.companyIdentifier, subversion: configuration.subversion)
        return [.send(pdu), .change(.versionSent)]
    }
}

extension RemoteVersion {
    fileprivate init(_ pdu: LLControl.VersionInd) {
        self.init(version: pdu.version, companyIdentifier: pdu.companyIdentifier, subversion: pdu.subversion)
    }
}
