import BBBluetoothCrypto
import BBPackets
import BBTiming

/// Start or stop of encryption after both devices have agreed; the central leads, whoever initiated. Core Vol 2, Part C, 4.2.5.2 to
/// 4.2.5.4.
struct EncryptionChange: LMPProcedure {
    private enum State {
        case awaitingStart
        /// Awaiting the peer's response to the proposed key size.
        case awaitingSize
        /// Awaiting the central's key size proposal or LMP_stop_encryption_req.
        case awaitingCentral
        /// Awaiting LMP_start_encryption_req; the key size is settled.
        case awaitingRandom
        /// Awaiting the peripheral's response to LMP_start_encryption_req or LMP_stop_encryption_req.
        case awaitingAcceptance
    }

    private let transaction: LMPTransaction
    private let isOn: Bool
    private var state = State.awaitingStart
    /// The proposed, then the agreed key size in octets.
    private var size: UInt8 = 0
    private var start: EncryptionStart?
    let kind = LinkManagement.Kind.encryption
    let isAwaitingPeer = true
    let holdsData = true

    init(_ transaction: LMPTransaction, isOn: Bool) {
        self.transaction = transaction
        self.isOn = isOn
    }

    mutating func handle(_ event: LMPEvent, _ link: ACLLinkState) -> [LMPAction]? {
        switch event {
        case .start: return begin(link)
        case .message(let message): return isOn ? settle(message, link) : stop(message)
        case .refused(let refusal) where refusal.concerns(LMP.EncryptionKeySizeReq.self): return end(link, .insufficientSecurity)
        case .refused(let refusal) where refusal.concerns(LMP.StartEncryptionReq.self) || refusal.concerns(LMP.StopEncryptionReq.self):
            return end(link, refusal.reason)
        default: return nil
        }
    }

    private mutating func begin(_ link: ACLLinkState) -> [LMPAction] {
        guard link.role == .central else {
            state = .awaitingCentral
            return []
        }
        guard isOn else {
            state = .awaitingAcceptance
            return [.baseband(.encryption(.off, direction: .receive)), .send(LMP.StopEncryptionReq(), transaction)]
        }
        state = .awaitingSize
        return [propose(link.settings.keySizes.upperBound)]
    }

    private mutating func propose(_ new: UInt8) -> LMPAction {
        size = new
        return .send(LMP.EncryptionKeySizeReq(keySize: new), transaction)
    }

    // MARK: Key size. Core Vol 2, Part C, 4.2.5.2

    private mutating func settle(_ message: LMPMessage, _ link: ACLLinkState) -> [LMPAction]? {
        switch (message.pdu, state) {
        case (_, .awaitingSize) where message.accepts(LMP.EncryptionKeySizeReq.self): return settled(link)
        case (.encryptionKeySizeReq(let pdu), .awaitingSize): return consider(pdu.keySize, below: size, link)
        case (.encryptionKeySizeReq(let pdu), .awaitingCentral): return consider(pdu.keySize, below: 17, link)
        case (.startEncryptionReq(let pdu), .awaitingRandom):
            guard let start = EncryptionStart(random: pdu.randomNumber, size: size, link) else { return nil }
            return start.steps(.peripheral, transaction) + [.report(.encryptionChanged(start.mode, .success)), .finish]
        case (_, .awaitingAcceptance) where message.accepts(LMP.StartEncryptionReq.self):
            guard let start else { return nil }
            return start.steps(.central, transaction) + [.report(.encryptionChanged(start.mode, .success)), .finish]
        default: return nil
        }
    }

    /// Handles a key size proposed by the peer: accepts it, proposes a smaller one, or rejects it if it is below the local minimum.
    private mutating func consider(_ proposed: UInt8, below limit: UInt8, _ link: ACLLinkState) -> [LMPAction] {
        let sizes = link.settings.keySizes
        guard proposed > 0, proposed < limit, proposed >= sizes.lowerBound else {
            let isLegal = proposed > 0 && proposed < limit
            let reason: ErrorCode = isLegal ? .unsupportedLMPParameterValue : .invalidLMPParameters
            return [.reject(LMP.EncryptionKeySizeReq.self, reason, transaction)] + end(link, .insufficientSecurity)
        }
        guard proposed <= sizes.upperBound else {
            state = .awaitingSize
            return [propose(sizes.upperBound)]
        }
        size = proposed
        return [.accept(LMP.EncryptionKeySizeReq.self, transaction)] + settled(link)
    }

    /// Continues after mode and key size are agreed. The central enables decryption before it requests the start. Core Vol 2, Part C, 4.2.5.3.
    private mutating func settled(_ link: ACLLinkState) -> [LMPAction] {
        guard link.role == .central else {
            state = .awaitingRandom
            return []
        }
        guard let start = EncryptionStart(drawing: size, link) else { return end(link, .pinOrKeyMissing) }
        self.start = start
        state = .awaitingAcceptance
        return start.request(transaction)
    }

    // MARK: Stop. Core Vol 2, Part C, 4.2.5.4

    private mutating func stop(_ message: LMPMessage) -> [LMPAction]? {
        let end: [LMPAction] = [.change(.encryption(.off, size: 0)), .report(.encryptionChanged(.off, .success)), .finish]
        switch (message.pdu, state) {
        case (.stopEncryptionReq, .awaitingCentral):
            let off: [LMPAction] = [
                .baseband(.encryption(.off, direction: .receive)), .baseband(.encryption(.off, direction: .transmit)),
            ]
            return off + [.accept(LMP.StopEncryptionReq.self, transaction)] + end
        case (_, .awaitingAcceptance) where message.accepts(LMP.StopEncryptionReq.self):
            return [.baseband(.encryption(.off, direction: .transmit))] + end
        default: return nil
        }
    }

    private func end(_ link: ACLLinkState, _ status: ErrorCode) -> [LMPAction] {
        [.report(.encryptionChanged(link.security.mode, status)), .finish]
    }
}

/// Encryption start in three steps: the central's receiver, both directions of the peripheral, the central's transmitter. Core Vol 2, Part
/// C, 4.2.5.3.
struct EncryptionStart {
    private let random: [UInt8]
    private let size: UInt8
    private let encryption: PayloadEncryption
    let mode: ACLEncryptionMode

    /// Returns nil without an authenticated key.
    ///
    /// - Parameters:
    ///   - size: key size in octets.
    ///   - pause: number from LMP_pause_encryption_aes_req if encryption resumes.
    init?(random: [UInt8], size: UInt8, resumedFrom pause: [UInt8]? = nil, _ link: ACLLinkState) {
        guard let encryption = link.encryption(with: random, size: size, resumedFrom: pause) else { return nil }
        self.random = random
        self.size = size
        self.encryption = encryption
        if case .aesCCM = encryption { mode = .aesCCM } else { mode = .e0 }
    }

    /// Creates the central's start with a new random number.
    init?(drawing size: UInt8, resumedFrom pause: [UInt8]? = nil, _ link: ACLLinkState) {
        var stream = link.stream
        let isStale = link.usesSecureConnections && link.settings.repeatsStartNumber
        self.init(random: isStale ? [UInt8](repeating: 0x5A, count: 16) : stream.octets(16), size: size, resumedFrom: pause, link)
    }

    func request(_ transaction: LMPTransaction) -> [LMPAction] {
        [
            .change(.streamTaken), .baseband(.encryption(encryption, direction: .receive)),
            .send(LMP.StartEncryptionReq(randomNumber: random), transaction),
        ]
    }

    /// The LMP actions each role takes on receiving the peer's PDU (Vol 2, Part C, 4.2.5).
    func steps(_ role: LinkRole, _ transaction: LMPTransaction) -> [LMPAction] {
        let transmit = LMPAction.baseband(.encryption(encryption, direction: .transmit))
        let known = LMPAction.change(.encryption(mode, size: size))
        guard role == .peripheral else { return [transmit, known] }
        return [
            .baseband(.encryption(encryption, direction: .receive)), transmit, .accept(LMP.StartEncryptionReq.self, transaction), known,
        ]
    }
}
