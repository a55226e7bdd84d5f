import Packets
import Timing

/// A fresh key for a link that is encrypted: encryption pauses and resumes. Core Vol 2, Part C, 4.2.5.5 and 4.2.5.6.
struct EncryptionRefresh: LMPProcedure {
    private enum State {
        case awaitingStart
        /// LMP_pause_encryption_req of the peripheral, or the central's of either kind.
        case awaitingPause
        /// The peripheral's answer to LMP_stop_encryption_req, or the central's request.
        case awaitingStop
        /// LMP_resume_encryption_req.
        case awaitingResume
        /// The peripheral's answer to LMP_start_encryption_req, or the central's request.
        case awaitingRestart
    }

    /// Whether this side began.
    private let isLocal: Bool
    private var transaction: LMPTransaction
    private var state = State.awaitingStart
    private var start: EncryptionStart?
    let kind = LinkManagement.Kind.encryption
    let isAwaitingPeer = true
    let holdsData = true

    init(isLocal: Bool, _ transaction: LMPTransaction) {
        self.isLocal = isLocal
        self.transaction = transaction
    }

    mutating func handle(_ event: LMPEvent, _ link: ACLLinkState) -> [LMPAction]? {
        switch event {
        case .start: return begin(link)
        case .message(let message): return link.role == .central ? lead(message, link) : follow(message, link)
        case .refused(let refusal)
        where refusal.concerns(LMP.PauseEncryptionReq.self) || refusal.concerns(LMP.PauseEncryptionAESReq.self):
            return [.report(.keyRefreshed(refusal.reason)), .finish]
        default: return nil
        }
    }

    private mutating func begin(_ link: ACLLinkState) -> [LMPAction] {
        guard link.security.mode != .off, link.bothSupport(.pauseEncryption) else {
            return [.report(.keyRefreshed(.unsupportedRemoteFeature)), .finish]
        }
        guard link.role == .central else {
            state = .awaitingStop
            return [.send(LMP.PauseEncryptionReq(), transaction)]
        }
        state = .awaitingPause
        return [pause(link)]
    }

    /// The central's word that encryption pauses.
    private func pause(_ link: ACLLinkState) -> LMPAction {
        guard link.security.mode == .aesCCM else { return .send(LMP.PauseEncryptionReq(), transaction) }
        var random = link.stream
        return .send(LMP.PauseEncryptionAESReq(randomNumber: random.octets(16)), transaction)
    }

    // MARK: The central

    private mutating func lead(_ message: LMPMessage, _ link: ACLLinkState) -> [LMPAction]? {
        switch (message.pdu, state) {
        case (.pauseEncryptionReq, .awaitingStart):
            // The peripheral began: with AES-CCM the central says its own word before it stops.
            return link.security.mode == .aesCCM ? [.change(.streamTaken), pause(link)] + stop() : stop()
        case (.pauseEncryptionReq, .awaitingPause): return stop()
        case (_, .awaitingStop) where message.accepts(LMP.StopEncryptionReq.self):
            state = .awaitingResume
            return [.baseband(.encryption(.off, direction: .transmit))]
        case (.resumeEncryptionReq, .awaitingResume):
            guard let start = EncryptionStart(drawing: link.security.keySize, link) else { return nil }
            self.start = start
            state = .awaitingRestart
            return start.request(transaction)
        case (_, .awaitingRestart) where message.accepts(LMP.StartEncryptionReq.self):
            return start.map { $0.steps(.central, transaction) + end }
        default: return nil
        }
    }

    private mutating func stop() -> [LMPAction] {
        state = .awaitingStop
        return [.baseband(.encryption(.off, direction: .receive)), .send(LMP.StopEncryptionReq(), transaction)]
    }

    // MARK: The peripheral

    private mutating func follow(_ message: LMPMessage, _ link: ACLLinkState) -> [LMPAction]? {
        switch (message.pdu, state) {
        case (.pauseEncryptionReq, .awaitingStart) where link.security.mode == .e0,
            (.pauseEncryptionAESReq, .awaitingStart) where link.security.mode == .aesCCM:
            state = .awaitingStop
            return [.send(LMP.PauseEncryptionReq(), transaction)]
        case (.pauseEncryptionAESReq, .awaitingStop) where isLocal && link.security.mode == .aesCCM: return []
        case (.stopEncryptionReq, .awaitingStop):
            state = .awaitingRestart
            return [
                .baseband(.encryption(.off, direction: .receive)), .baseband(.encryption(.off, direction: .transmit)),
                .accept(LMP.StopEncryptionReq.self, transaction), .send(LMP.ResumeEncryptionReq(), transaction),
            ]
        case (.startEncryptionReq(let pdu), .awaitingRestart):
            guard let start = EncryptionStart(random: pdu.randomNumber, size: link.security.keySize, link) else { return nil }
            return start.steps(.peripheral, transaction) + end
        default: return nil
        }
    }

    private var end: [LMPAction] { [.report(.keyRefreshed(.success)), .finish] }
}
