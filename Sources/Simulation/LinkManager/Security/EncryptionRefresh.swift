import BBBluetoothCrypto
import BBPackets
import BBTiming

/// Pauses encryption and resumes it with a new key, optionally with a role switch in between. Core Vol 2, Part C, 4.2.5.5, 4.2.5.6 and
/// 4.4.2.
///
/// The initiator pauses with LMP_pause_encryption_req for E0, and with LMP_pause_encryption_aes_req for AES-CCM, whose number becomes the
/// IV. A peripheral responds to the central with LMP_pause_encryption_req, a central responds to the peripheral with
/// LMP_stop_encryption_req. The initiator resumes: a central with LMP_start_encryption_req, a peripheral with LMP_resume_encryption_req.
struct EncryptionRefresh: LMPProcedure {
    private enum State {
        case awaitingStart
        /// Awaiting LMP_pause_encryption_req from the peripheral.
        case awaitingPause
        /// Awaiting the peripheral's response to LMP_stop_encryption_req, or the central's request.
        case awaitingStop
        /// Encryption is paused; the local role switch is running.
        case switching(LocalRoleSwitch)
        /// Encryption is paused; the peer resumes it or switches roles.
        case awaitingResume
        /// The peer's role switch is running.
        case beingSwitched(RemoteRoleSwitch)
        /// Awaiting the peripheral's response to LMP_start_encryption_req, or the central's request.
        case awaitingRestart
    }

    /// True if the local device initiated the procedure.
    private let isLocal: Bool
    private let switchesRoles: Bool
    /// Set when the procedure starts: a request may wait for a role switch, after which the own transaction has another ID.
    private var transaction = LMPTransaction.central
    private var state = State.awaitingStart
    private var start: EncryptionStart?
    /// Number from LMP_pause_encryption_aes_req.
    private var random: [UInt8]?
    let kind = LinkManagement.Kind.encryption
    let isAwaitingPeer = true
    let holdsData = true

    init(isLocal: Bool, switchesRoles: Bool = false) {
        self.isLocal = isLocal
        self.switchesRoles = switchesRoles
    }

    mutating func handle(_ event: LMPEvent, _ link: ACLLinkState) -> [LMPAction]? {
        switch (event, state) {
        case (_, .switching(var roleSwitch)):
            guard let actions = roleSwitch.handle(event, link) else { return nil }
            state = .switching(roleSwitch)
            return follow(actions, event, link)
        case (_, .beingSwitched(var roleSwitch)):
            guard let actions = roleSwitch.handle(event, link) else { return nil }
            return beSwitched(roleSwitch, actions)
        case (.start, _): return begin(link)
        case (.message(let message), _):
            if case .awaitingStart = state { transaction = message.transaction }
            return link.role == .central ? lead(message, link) : follow(message, link)
        case (.refused(let refusal), _)
        where refusal.concerns(LMP.PauseEncryptionReq.self) || refusal.concerns(LMP.PauseEncryptionAESReq.self):
            return fail(refusal.reason, link)
        default: return nil
        }
    }

    private mutating func begin(_ link: ACLLinkState) -> [LMPAction] {
        guard link.security.mode != .off, link.bothSupport(.pauseEncryption) else { return fail(.unsupportedRemoteFeature, link) }
        transaction = link.ownTransaction
        state = link.role == .central ? .awaitingPause : .awaitingStop
        guard link.security.mode == .aesCCM else { return [.send(LMP.PauseEncryptionReq(), transaction)] }
        var stream = link.stream
        let drawn = stream.octets(16)
        random = drawn
        return [.change(.streamTaken), .send(LMP.PauseEncryptionAESReq(randomNumber: drawn), transaction)]
    }

    private func fail(_ reason: ErrorCode, _ link: ACLLinkState) -> [LMPAction] {
        [.report(switchesRoles ? .roleChanged(link.role, reason) : .keyRefreshed(reason)), .finish]
    }

    // MARK: Central

    private mutating func lead(_ message: LMPMessage, _ link: ACLLinkState) -> [LMPAction]? {
        switch (message.pdu, state) {
        case (.pauseEncryptionReq, .awaitingStart) where link.security.mode == .e0: return stop()
        case (.pauseEncryptionAESReq(let pdu), .awaitingStart) where link.security.mode == .aesCCM:
            random = pdu.randomNumber
            return stop()
        case (.pauseEncryptionReq, .awaitingPause): return stop()
        case (_, .awaitingStop) where message.accepts(LMP.StopEncryptionReq.self):
            return [.baseband(.encryption(.off, direction: .transmit))] + paused(link)
        case (.switchReq, .awaitingResume): return beSwitched(by: message, link)
        case (.resumeEncryptionReq, .awaitingResume):
            transaction = message.transaction
            return restart(link)
        // A request of the peripheral that crosses the central's own is already being served.
        case (.resumeEncryptionReq, .awaitingRestart): return []
        case (_, .awaitingRestart) where message.accepts(LMP.StartEncryptionReq.self):
            return start.map { $0.steps(.central, transaction) + end }
        default: return nil
        }
    }

    private mutating func stop() -> [LMPAction] {
        state = .awaitingStop
        return [.baseband(.encryption(.off, direction: .receive)), .send(LMP.StopEncryptionReq(), transaction)]
    }

    private mutating func restart(_ link: ACLLinkState) -> [LMPAction]? {
        guard let start = EncryptionStart(drawing: link.security.keySize, resumedFrom: random, link) else { return nil }
        self.start = start
        state = .awaitingRestart
        return start.request(transaction)
    }

    // MARK: Peripheral

    private mutating func follow(_ message: LMPMessage, _ link: ACLLinkState) -> [LMPAction]? {
        switch (message.pdu, state) {
        case (.pauseEncryptionReq, .awaitingStart) where link.security.mode == .e0: return agreeToPause()
        case (.pauseEncryptionAESReq(let pdu), .awaitingStart) where link.security.mode == .aesCCM:
            random = pdu.randomNumber
            return agreeToPause()
        case (.stopEncryptionReq, .awaitingStop):
            let off: [LMPAction] = [
                .baseband(.encryption(.off, direction: .receive)), .baseband(.encryption(.off, direction: .transmit)),
                .accept(LMP.StopEncryptionReq.self, transaction),
            ]
            return off + paused(link)
        case (.switchReq, .awaitingResume): return beSwitched(by: message, link)
        case (.startEncryptionReq(let pdu), .awaitingResume), (.startEncryptionReq(let pdu), .awaitingRestart):
            guard let start = EncryptionStart(random: pdu.randomNumber, size: link.security.keySize, resumedFrom: random, link) else {
                return nil
            }
            return start.steps(.peripheral, message.transaction) + end
        default: return nil
        }
    }

    private mutating func agreeToPause() -> [LMPAction] {
        state = .awaitingStop
        return [.send(LMP.PauseEncryptionReq(), transaction)]
    }

    // MARK: Paused

    /// Encryption has been stopped; the initiator continues.
    private mutating func paused(_ link: ACLLinkState) -> [LMPAction] {
        let pause = LMPAction.change(.encryptionPaused)
        guard isLocal else {
            state = .awaitingResume
            return [pause]
        }
        guard switchesRoles else { return [pause] + resume(link) }
        var known = link
        _ = known.apply(.encryptionPaused)
        var roleSwitch = LocalRoleSwitch()
        let actions = roleSwitch.handle(.start, known) ?? [.finish]
        state = .switching(roleSwitch)
        return [pause] + (follow(actions, .start, link) ?? [])
    }

    /// Resumes encryption according to the current role.
    private mutating func resume(_ link: ACLLinkState) -> [LMPAction] {
        transaction = link.ownTransaction
        if link.role == .central { return restart(link) ?? [.finish] }
        state = .awaitingRestart
        return [.send(LMP.ResumeEncryptionReq(), transaction)]
    }

    /// Runs the steps of the local role switch; after the last one, resumes encryption in the new roles.
    private mutating func follow(_ actions: [LMPAction], _ event: LMPEvent, _ link: ACLLinkState) -> [LMPAction]? {
        guard case .finish = actions.last else { return actions }
        var known = link
        if case .hostReplied(.switched(isDone: true)) = event { _ = known.apply(.role(link.role == .central ? .peripheral : .central)) }
        return actions.dropLast() + resume(known)
    }

    private mutating func beSwitched(by message: LMPMessage, _ link: ACLLinkState) -> [LMPAction]? {
        var roleSwitch = RemoteRoleSwitch()
        guard let actions = roleSwitch.handle(.message(message), link) else { return nil }
        return beSwitched(roleSwitch, actions)
    }

    private mutating func beSwitched(_ roleSwitch: RemoteRoleSwitch, _ actions: [LMPAction]) -> [LMPAction] {
        guard case .finish = actions.last else {
            state = .beingSwitched(roleSwitch)
            return actions
        }
        state = .awaitingResume
        return actions.dropLast()
    }

    private var end: [LMPAction] { [.report(.keyRefreshed(.success)), .finish] }
}
