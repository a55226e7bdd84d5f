import BBBluetoothCrypto
import BBPackets
import BBTiming

/// Replaces the current link key by a new combination key: LMP_comb_key in both directions, masked with the current key, then mutual
/// authentication. Core Vol 2, Part C, 4.2.3.
struct LocalLinkKeyChange: LMPProcedure {
    private var own: [UInt8] = []
    let kind = LinkManagement.Kind.pairing
    let isAwaitingPeer = true

    mutating func handle(_ event: LMPEvent, _ link: ACLLinkState) -> [LMPAction]? {
        switch event {
        case .start:
            guard let current = link.security.linkKey, link.mayChangeKey else { return end(link.refusalOfKeyChange) }
            var secrets = link.stream
            own = secrets.octets(16)
            return [.change(.streamTaken), .send(LMP.CombKey(randomNumber: own ^ current), link.ownTransaction)]
        case .message(let message):
            guard case .combKey(let pdu) = message.pdu, let current = link.security.linkKey else { return nil }
            let key = link.combinationKey(own, pdu.randomNumber ^ current)
            return [.change(.linkKey(key)), .continueWith(LocalAuthentication(.changed, message.transaction))]
        case .refused(let refusal) where refusal.concerns(LMP.CombKey.self): return end(refusal.reason)
        default: return nil
        }
    }

    private func end(_ status: ErrorCode) -> [LMPAction] { [.report(.keyChanged(status)), .finish] }
}

/// Link key change initiated by the peer.
struct RemoteLinkKeyChange: LMPProcedure {
    let kind = LinkManagement.Kind.pairing

    mutating func handle(_ event: LMPEvent, _ link: ACLLinkState) -> [LMPAction]? {
        guard case .message(let message) = event, case .combKey(let pdu) = message.pdu else { return nil }
        guard let current = link.security.linkKey, link.mayChangeKey else {
            return [.reject(LMP.CombKey.self, link.refusalOfKeyChange, message.transaction), .finish]
        }
        var secrets = link.stream
        let own = secrets.octets(16)
        let key = link.combinationKey(own, pdu.randomNumber ^ current)
        return [
            .change(.streamTaken), .send(LMP.CombKey(randomNumber: own ^ current), message.transaction), .change(.linkKey(key)),
            .continueWith(RemoteAuthentication(.changed)),
        ]
    }
}

extension ACLLinkState {
    /// True if the link key can be changed: it has been authenticated and is not from Secure Connections.
    fileprivate var mayChangeKey: Bool { security.cipheringOffset != nil && !usesSecureConnections }
    fileprivate var refusalOfKeyChange: ErrorCode { security.cipheringOffset == nil ? .pinOrKeyMissing : .linkKeyCannotBeChanged }
}
