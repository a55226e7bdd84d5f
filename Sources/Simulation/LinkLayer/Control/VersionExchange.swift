import Packets

/// Version exchange, by either side: each sends LL_VERSION_IND once in a link's life. Core Vol 6, Part B, 5.1.5.
struct LocalVersionExchange: LocalProcedure {
    var kind: ProcedureKind { .version }
    let isAwaitingPeer = true

    mutating func start(_ context: ProcedureContext) -> [ProcedureAction] {
        if let known = context.peerVersion { return [.tell(.version(known, .success)), .finish] }
        return context.hasSentVersion ? [] : [.send(context.ownVersion.pdu)]
    }

    mutating func received(_ message: LLControl.Message, _ context: ProcedureContext) -> [ProcedureAction]? {
        guard case .versionInd(let pdu) = message else { return nil }
        let version = RemoteVersion(pdu)
        return [.change(.peerVersion(version)), .tell(.version(version, .success)), .finish]
    }

    mutating func refused(_ opcode: UInt8?, _ reason: ErrorCode, _ context: ProcedureContext) -> [ProcedureAction]? {
        guard opcode == LLControl.VersionInd.opcode else { return nil }
        return [.tell(.version(RemoteVersion(version: 0, companyIdentifier: 0, subversion: 0), reason)), .finish]
    }
}

struct RemoteVersionExchange: LinkProcedure {
    var kind: ProcedureKind { .version }
    let isAwaitingPeer = false

    mutating func received(_ message: LLControl.Message, _ context: ProcedureContext) -> [ProcedureAction]? {
        guard case .versionInd(let pdu) = message else { return nil }
        let answer: [ProcedureAction] = context.hasSentVersion ? [] : [.send(context.ownVersion.pdu)]
        return [.change(.peerVersion(RemoteVersion(pdu)))] + answer + [.finish]
    }
}

extension RemoteVersion {
    init(_ pdu: LLControl.VersionInd) {
        self.init(version: pdu.version, companyIdentifier: pdu.companyIdentifier, subversion: pdu.subversion)
    }

    var pdu: LLControl.VersionInd {
        LLControl.VersionInd(version: version, companyIdentifier: companyIdentifier, subversion: subversion)
    }
}
