import BBBluetoothCrypto
import BBPackets
import BBTiming

/// Reason for an authentication.
enum AuthenticationPurpose: Equatable {
    /// Requested by the local or the remote host.
    case asked
    /// Proves a newly created link key: mutual, and followed by the key notification to the hosts. Core Vol 2, Part C, 4.2.2.
    case paired(LinkKeyType)
    /// Proves a key that replaces another. Core Vol 2, Part C, 4.2.3.
    case changed
}

/// Authentication initiated by the local device. In legacy authentication the peer proves possession of the link key, and after pairing
/// this device does so as well. Secure authentication is mutual. Core Vol 2, Part C, 4.2.1.
struct LocalAuthentication: LMPProcedure {
    private enum State {
        case awaitingKey
        case awaitingResponse
        /// Awaiting the peer's challenge.
        case awaitingChallenge
    }

    let purpose: AuthenticationPurpose
    private var transaction: LMPTransaction
    private var state = State.awaitingKey
    private var own: [UInt8] = []
    private var theirs: [UInt8] = []
    let kind = LinkManagement.Kind.authentication

    /// - Parameter transaction: that of the pairing; the host's own request belongs to the role in which it starts.
    init(_ purpose: AuthenticationPurpose = .asked, _ transaction: LMPTransaction = .central) {
        self.purpose = purpose
        self.transaction = transaction
    }

    var isAwaitingPeer: Bool { state != .awaitingKey }

    mutating func handle(_ event: LMPEvent, _ link: ACLLinkState) -> [LMPAction]? {
        switch (event, state) {
        case (.start, .awaitingKey):
            guard purpose == .asked else { return challenge(link) }
            transaction = link.ownTransaction
            guard !link.settings.isAuthenticationBarred else { return [.report(.authenticated(.repeatedAttempts)), .finish] }
            return [.report(.linkKeyRequested)]
        case (.hostReplied(.linkKey(let key)), .awaitingKey):
            return [.change(.linkKey(key))] + challenge(link)
        case (.hostReplied(.noLinkKey), .awaitingKey):
            return [
                .continueWith(
                    link.usesSimplePairing ? LocalIOCapabilities(transaction) : LocalLegacyPairing(transaction) as any LMPProcedure)
            ]
        case (.message(let message), .awaitingResponse):
            switch message.pdu {
            case .sres(let pdu) where !link.usesSecureConnections: return legacyResponse(pdu.authenticationRsp, link)
            case .sres(let pdu) where !theirs.isEmpty: return secureResponse(pdu.authenticationRsp, link)
            case .auRand(let pdu) where link.usesSecureConnections && theirs.isEmpty: return secureChallenge(pdu.randomNumber, link)
            default: return nil
            }
        case (.message(let message), .awaitingChallenge):
            guard case .auRand(let pdu) = message.pdu, let answer = link.response(to: pdu.randomNumber, claimant: link.own) else {
                return nil
            }
            return [.change(.cipheringOffset(answer.offset)), .send(LMP.SRES(authenticationRsp: answer.sres), transaction)] + end(link)
        case (.refused(let refusal), _) where refusal.concerns(LMP.AuRand.self):
            return [.report(result(refusal.reason)), .finish]
        default: return nil
        }
    }

    private mutating func challenge(_ link: ACLLinkState) -> [LMPAction] {
        state = .awaitingResponse
        var secrets = link.stream
        own = secrets.octets(16)
        return [.change(.streamTaken), .send(LMP.AuRand(randomNumber: own), transaction)]
    }

    private mutating func legacyResponse(_ sres: [UInt8], _ link: ACLLinkState) -> [LMPAction] {
        guard let expected = link.response(to: own, claimant: link.peer), link.takes(sres, for: expected.sres) else { return fail() }
        let known = LMPAction.change(.cipheringOffset(expected.offset))
        guard purpose == .asked else {
            state = .awaitingChallenge
            return [known]
        }
        return [known] + end(link)
    }

    /// Processes a challenge of secure authentication, where the peripheral responds first, whoever initiated.
    private mutating func secureChallenge(_ random: [UInt8], _ link: ACLLinkState) -> [LMPAction]? {
        theirs = random
        guard link.role == .peripheral else { return [] }
        guard let answers = link.confirmation(central: theirs, peripheral: own) else { return nil }
        return [.send(LMP.SRES(authenticationRsp: answers.peripheral), transaction)]
    }

    private func secureResponse(_ sres: [UInt8], _ link: ACLLinkState) -> [LMPAction] {
        let isCentral = link.role == .central
        guard let answers = link.confirmation(central: isCentral ? own : theirs, peripheral: isCentral ? theirs : own),
            link.takes(sres, for: isCentral ? answers.peripheral : answers.central)
        else { return fail() }
        let answer: [LMPAction] = isCentral ? [.send(LMP.SRES(authenticationRsp: answers.central), transaction)] : []
        return answer + [.change(.cipheringOffset(answers.offset))] + end(link)
    }

    private func end(_ link: ACLLinkState) -> [LMPAction] { link.told(purpose) + [.report(result(.success)), .finish] }

    private func result(_ status: ErrorCode) -> ACLReport { purpose == .changed ? .keyChanged(status) : .authenticated(status) }

    private func fail() -> [LMPAction] {
        [
            .change(.linkKey(nil)), .report(.proofFailed), .report(result(.authenticationFailure)),
            .continueWith(LocalDetach(.authenticationFailure)),
        ]
    }
}

/// Authentication initiated by the peer.
struct RemoteAuthentication: LMPProcedure {
    private enum State {
        case awaitingChallenge
        case awaitingKey
        case awaitingResponse
    }

    let purpose: AuthenticationPurpose
    private var transaction = LMPTransaction.central
    private var state = State.awaitingChallenge
    private var own: [UInt8] = []
    private var theirs: [UInt8] = []
    let kind = LinkManagement.Kind.authentication

    init(_ purpose: AuthenticationPurpose = .asked) { self.purpose = purpose }

    var isAwaitingPeer: Bool { state != .awaitingKey }

    mutating func handle(_ event: LMPEvent, _ link: ACLLinkState) -> [LMPAction]? {
        switch (event, state) {
        case (.start, .awaitingChallenge): return []
        case (.message(let message), .awaitingChallenge):
            guard case .auRand(let pdu) = message.pdu else { return nil }
            theirs = pdu.randomNumber
            transaction = message.transaction
            guard link.security.linkKey == nil else { return answer(link) }
            state = .awaitingKey
            return [.report(.linkKeyRequested)]
        case (.hostReplied(.linkKey(let key)), .awaitingKey):
            var known = link
            _ = known.apply(.linkKey(key))
            return [.change(.linkKey(key))] + answer(known)
        case (.hostReplied(.noLinkKey), .awaitingKey): return [.reject(LMP.AuRand.self, .pinOrKeyMissing, transaction), .finish]
        case (.message(let message), .awaitingResponse):
            guard case .sres(let pdu) = message.pdu else { return nil }
            return link.usesSecureConnections ? secureResponse(pdu.authenticationRsp, link) : legacyResponse(pdu.authenticationRsp, link)
        case (.refused(let refusal), .awaitingResponse) where refusal.concerns(LMP.AuRand.self):
            return [.continueWith(LocalDetach(.authenticationFailure))]
        default: return nil
        }
    }

    private mutating func answer(_ link: ACLLinkState) -> [LMPAction] {
        var secrets = link.stream
        own = secrets.octets(16)
        guard link.usesSecureConnections else { return legacyAnswer(link) }
        state = .awaitingResponse
        let challenge: [LMPAction] = [.change(.streamTaken), .send(LMP.AuRand(randomNumber: own), transaction)]
        guard link.role == .peripheral, let answers = link.confirmation(central: theirs, peripheral: own) else { return challenge }
        return challenge + [.send(LMP.SRES(authenticationRsp: answers.peripheral), transaction)]
    }

    private mutating func legacyAnswer(_ link: ACLLinkState) -> [LMPAction] {
        guard let answer = link.response(to: theirs, claimant: link.own) else { return [.finish] }
        let response: [LMPAction] = [
            .send(LMP.SRES(authenticationRsp: answer.sres), transaction), .change(.cipheringOffset(answer.offset)),
        ]
        guard purpose != .asked else { return response + [.finish] }
        state = .awaitingResponse
        return response + [.change(.streamTaken), .send(LMP.AuRand(randomNumber: own), transaction)]
    }

    private func legacyResponse(_ sres: [UInt8], _ link: ACLLinkState) -> [LMPAction] {
        guard let expected = link.response(to: own, claimant: link.peer), link.takes(sres, for: expected.sres) else { return fail() }
        return [.change(.cipheringOffset(expected.offset))] + link.told(purpose) + [.finish]
    }

    private func secureResponse(_ sres: [UInt8], _ link: ACLLinkState) -> [LMPAction] {
        let isCentral = link.role == .central
        guard let answers = link.confirmation(central: isCentral ? own : theirs, peripheral: isCentral ? theirs : own),
            link.takes(sres, for: isCentral ? answers.peripheral : answers.central)
        else { return fail() }
        let answer: [LMPAction] = isCentral ? [.send(LMP.SRES(authenticationRsp: answers.central), transaction)] : []
        return answer + [.change(.cipheringOffset(answers.offset))] + link.told(purpose) + [.finish]
    }

    private func fail() -> [LMPAction] {
        [.change(.linkKey(nil)), .report(.proofFailed), .continueWith(LocalDetach(.authenticationFailure))]
    }
}

extension ACLLinkState {
    fileprivate func takes(_ response: [UInt8], for expected: [UInt8]) -> Bool {
        response == expected || settings.quirks.contains(.takesAnyResponse)
    }

    /// Notifies the host of a new link key.
    fileprivate func told(_ purpose: AuthenticationPurpose) -> [LMPAction] {
        guard let key = security.linkKey else { return [] }
        return switch purpose {
        case .asked: []
        case .paired(let type): [.report(.linkKey(key, type))]
        case .changed: [.report(.linkKey(key, .changedCombination))]
        }
    }
}
