import BBPackets

/// LMP_version_req. Core Vol 2, Part C, 4.3.3.
struct LocalVersionRequest: LMPProcedure {
    let kind = LinkManagement.Kind.version
    let isAwaitingPeer = true

    mutating func handle(_ event: LMPEvent, _ link: ACLLinkState) -> [LMPAction]? {
        switch event {
        case .start:
            if let known = link.peerVersion { return [.report(.version(known, .success)), .finish] }
            let own = link.settings.version
            let pdu = LMP.VersionReq(version: own.version, companyIdentifier: own.companyIdentifier, subversion: own.subversion)
            return [.send(pdu, link.ownTransaction)]
        case .message(let message):
            guard case .versionRes(let pdu) = message.pdu else { return nil }
            let version = RemoteVersion(
                version: pdu.version, companyIdentifier: pdu.companyIdentifier, subversion: pdu.subversion)
            return [.change(.peerVersion(version)), .report(.version(version, .success)), .finish]
        case .refused(let refusal) where refusal.concerns(LMP.VersionReq.self):
            return [.report(.version(RemoteVersion(version: 0, companyIdentifier: 0, subversion: 0), refusal.reason)), .finish]
        default: return nil
        }
    }
}

struct RemoteVersionRequest: LMPProcedure {
    let kind = LinkManagement.Kind.version

    mutating func handle(_ event: LMPEvent, _ link: ACLLinkState) -> [LMPAction]? {
        guard case .message(let message) = event, case .versionReq(let pdu) = message.pdu else { return nil }
        let theirs = RemoteVersion(version: pdu.version, companyIdentifier: pdu.companyIdentifier, subversion: pdu.subversion)
        let own = link.settings.version
        let response = LMP.VersionRes(version: own.version, companyIdentifier: own.companyIdentifier, subversion: own.subversion)
        return [.change(.peerVersion(theirs)), .send(response, message.transaction), .finish]
    }
}
