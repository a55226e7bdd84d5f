import BBPackets

/// Sends LMP_name_req repeatedly until the name is complete. Core Vol 2, Part C, 4.3.5.
struct LocalNameRequest: LMPProcedure {
    /// Octets of the name per PDU.
    static let fragment = 14

    private var name: [UInt8] = []
    let kind = LinkManagement.Kind.name
    let isAwaitingPeer = true

    mutating func handle(_ event: LMPEvent, _ link: ACLLinkState) -> [LMPAction]? {
        switch event {
        case .start: return [request(link)]
        case .message(let message):
            guard case .nameRes(let pdu) = message.pdu, Int(pdu.nameOffset) == name.count else { return nil }
            let length = min(Int(pdu.nameLength), BREDRSettings.nameLength)
            name += pdu.nameFragment.prefix(length - name.count < 0 ? 0 : length - name.count)
            // An empty fragment means that the name has become shorter meanwhile.
            return name.count < length && !pdu.nameFragment.isEmpty ? [request(link)] : end(.success)
        case .refused(let refusal) where refusal.concerns(LMP.NameReq.self): return end(refusal.reason)
        default: return nil
        }
    }

    private func request(_ link: ACLLinkState) -> LMPAction {
        .send(LMP.NameReq(nameOffset: UInt8(truncatingIfNeeded: name.count)), link.ownTransaction)
    }

    private func end(_ status: ErrorCode) -> [LMPAction] {
        let padding = [UInt8](repeating: 0, count: max(0, BREDRSettings.nameLength - name.count))
        return [.report(.name(name + padding, status)), .finish]
    }
}

struct RemoteNameRequest: LMPProcedure {
    let kind = LinkManagement.Kind.name

    mutating func handle(_ event: LMPEvent, _ link: ACLLinkState) -> [LMPAction]? {
        guard case .message(let message) = event, case .nameReq(let pdu) = message.pdu else { return nil }
        let name = link.settings.name.prefix { $0 != 0 }.prefix(BREDRSettings.nameLength)
        let fragment = name.dropFirst(Int(pdu.nameOffset)).prefix(LocalNameRequest.fragment)
        let padding = [UInt8](repeating: 0, count: LocalNameRequest.fragment - fragment.count)
        let response = LMP.NameRes(
            nameOffset: pdu.nameOffset, nameLength: UInt8(truncatingIfNeeded: name.count), nameFragment: fragment + padding)
        return [.send(response, message.transaction), .finish]
    }
}
