import BBPackets
import BBTiming

/// The security manager of one connection. It pairs, supplies keys to the controller, and thus knows which encryption changes are genuine.
/// Core Vol 3, Part H.
struct SecurityManager {
    /// Maximum time between two commands of a procedure. Core Vol 3, Part H, 3.4.
    static let timeOut = Microseconds.seconds(30)

    private enum State {
        case idle
        /// A peripheral has sent Security_Request.
        case awaitCentral(PairingSettings)
        /// A central encrypts with an existing key in response to Security_Request.
        case encrypting
        case pairing(Pairing)
        /// The timer has expired: no more PDUs are sent or accepted on this link. Core Vol 3, Part H, 3.4.
        case timedOut
    }

    private struct GivenKey {
        var level: LinkSecurity
        var size: Int
        /// True for the key of a bond, false for that of the current pairing.
        var isKept: Bool

        init(_ key: LongTermKey, _ level: LinkSecurity, isKept: Bool) { (self.level, size, self.isKept) = (level, key.size, isKept) }
    }

    private var state = State.idle
    private(set) var level = LinkSecurity.none
    /// Size in octets of the current encryption key, 7...16; 0 if the link is not encrypted.
    private(set) var keySize = 0
    /// The link is encrypted with the key of the bond, which proves the identity of the peer.
    private(set) var isBondProven = false
    /// The current or last pairing uses the key pair of this device's out-of-band data.
    private(set) var usesOutOfBandData = false
    /// The key supplied to the controller; without one, an encryption change is rejected.
    private var given: GivenKey?
    /// Time at which to call `expire`.
    private(set) var deadline: Microseconds?

    var isBusy: Bool {
        switch state {
        case .idle, .timedOut: false
        case .awaitCentral, .encrypting, .pairing: true
        }
    }
    /// True while a peripheral's Security Request is served with an existing key.
    var isEncrypting: Bool { if case .encrypting = state { true } else { false } }
    var isSilent: Bool { if case .timedOut = state { true } else { false } }

    /// True if a Pairing Request now means that the central has lost the bond, whose key is as strong as this device asked for. Core Vol 3,
    /// Part C, 10.3.2.
    func isLoss(of bond: Bond?) -> Bool {
        guard case .awaitCentral(let settings) = state, let bond, let key = bond.localLongTermKey else { return false }
        return bond.level(with: key) >= LinkSecurity(asked: settings.authenticationRequirements)
    }

    // MARK: Calls of the host

    /// Sends Pairing_Request as central, Security_Request as peripheral.
    mutating func pair(_ setup: PairingSetup, _ settings: PairingSettings, at now: Microseconds) -> [SecurityAction] {
        guard case .idle = state else { return [] }
        if setup.mustWait { return [.failed(.peer(.pairingRefused(.repeatedAttempts)))] }
        guard setup.isCentral else {
            state = .awaitCentral(settings)
            return watched([.send(SMP.SecurityRequest(authReq: settings.authenticationRequirements).bytes)], at: now)
        }
        var pairing = Pairing(setup, settings, isWanted: true)
        let actions = pairing.start()
        state = .pairing(pairing)
        return watched(actions, at: now)
    }

    /// Joins the pairing that the peer has started; nil if there is none, or if it was requested by this device already.
    mutating func join(at now: Microseconds) -> [SecurityAction]? {
        guard case .pairing(var pairing) = state, !pairing.isWanted else { return nil }
        let actions = pairing.join()
        state = .pairing(pairing)
        return watched(actions, at: now)
    }

    mutating func answered(_ answer: PairingAnswer, at now: Microseconds) -> [SecurityAction] {
        guard case .pairing(var pairing) = state else { return [] }
        let actions = pairing.answered(answer)
        state = .pairing(pairing)
        return watched(actions, at: now)
    }

    /// Ends a pairing that is under way.
    mutating func cancel(at now: Microseconds) -> [SecurityAction] {
        guard case .pairing = state else { return [] }
        return watched(refuse(.unspecifiedReason), at: now)
    }

    // MARK: PDUs

    mutating func received(_ pdu: [UInt8], _ setup: PairingSetup, at now: Microseconds) -> [SecurityAction] {
        guard let opcode = pdu.first, (SMP.PairingRequest.opcode...SMP.KeypressNotification.opcode).contains(opcode), !isSilent else {
            return []
        }
        // Trailing octets make a command as invalid as missing ones.
        guard let message = try? SMP.Message(bytes: pdu), message.bytes.count == pdu.count else {
            return watched(malformed(opcode, setup), at: now)
        }
        if case .securityRequest = message, setup.isCentral { deadline = nil }
        return watched(received(message, opcode, setup), at: now)
    }

    private mutating func received(_ message: SMP.Message, _ opcode: UInt8, _ setup: PairingSetup) -> [SecurityAction] {
        if let reason = Self.wrongRole(message, isCentral: setup.isCentral) { return refuse(reason) }
        switch state {
        case .idle: return receivedIdle(message, opcode, setup)
        case .awaitCentral(let settings):
            if case .pairingFailed(let failed) = message { return [.failed(.peer(.pairingFailed(failed.reason)))] }
            guard case .pairingRequest = message else { return [] }
            // The user has not asked for another bond.
            return begin(Pairing(setup, settings, isWanted: !isLoss(of: setup.bond)), message, opcode)
        case .encrypting, .timedOut: return []
        case .pairing(let pairing):
            // A peripheral may ask again before it has received the request.
            if case .securityRequest = message { return [] }
            return begin(pairing, message, opcode)
        }
    }

    private mutating func begin(_ pairing: Pairing, _ message: SMP.Message, _ opcode: UInt8) -> [SecurityAction] {
        var pairing = pairing
        let actions = pairing.received(message, opcode: opcode)
        usesOutOfBandData = pairing.usesOutOfBandData
        state = .pairing(pairing)
        return actions
    }

    private mutating func receivedIdle(_ message: SMP.Message, _ opcode: UInt8, _ setup: PairingSetup) -> [SecurityAction] {
        if case .pairingFailed = message { return [] }
        guard let settings = setup.settings else {
            if case .securityRequest(let request) = message, let answer = encrypted(for: request.authReq, setup) { return answer }
            return [.send(SMP.PairingFailed(reason: .pairingNotSupported).bytes)]
        }
        switch message {
        case .pairingRequest:
            guard !setup.mustWait else { return [.send(SMP.PairingFailed(reason: .repeatedAttempts).bytes)] }
            return begin(Pairing(setup, settings, isWanted: false), message, opcode)
        case .securityRequest(let request): return asked(for: request.authReq, setup, settings)
        default: return []
        }
    }

    /// Handles Security_Request: encrypts, or refreshes encryption, with an existing key that is strong enough; otherwise pairs. Core Vol
    /// 3, Part H, 2.4.6.
    private mutating func asked(for requirements: AuthReq, _ setup: PairingSetup, _ settings: PairingSettings) -> [SecurityAction] {
        if let actions = encrypt(with: setup.bond, for: max(settings.minimumLevel, LinkSecurity(asked: requirements))) { return actions }
        guard !setup.mustWait else { return [.send(SMP.PairingFailed(reason: .repeatedAttempts).bytes)] }
        var pairing = Pairing(setup, settings, isWanted: false)
        let actions = pairing.start()
        state = .pairing(pairing)
        return actions
    }

    /// A host that does not pair responds with its existing key if it is strong enough, or if the link is already encrypted with it, since
    /// there will be no better key.
    private mutating func encrypted(for requirements: AuthReq, _ setup: PairingSetup) -> [SecurityAction]? {
        encrypt(with: setup.bond, for: level > .none ? level : LinkSecurity(asked: requirements))
    }

    private mutating func encrypt(with bond: Bond?, for wanted: LinkSecurity) -> [SecurityAction]? {
        guard let bond, let key = bond.peerLongTermKey, bond.level(with: key) >= wanted else { return nil }
        _ = encryptionKey(of: bond)
        state = .encrypting
        return [.encrypt(key)]
    }

    /// Error for a message in the wrong role: only a central receives Security_Request, and only a peripheral receives Pairing_Request.
    private static func wrongRole(_ message: SMP.Message, isCentral: Bool) -> PairingFailedReason? {
        switch message {
        case .pairingRequest: isCentral ? .commandNotSupported : nil
        case .securityRequest: isCentral ? nil : .commandNotSupported
        default: nil
        }
    }

    private func malformed(_ opcode: UInt8, _ setup: PairingSetup) -> [SecurityAction] {
        guard opcode != SMP.PairingFailed.opcode else { return [] }
        return refuse(isBusy || setup.settings != nil ? .invalidParameters : .pairingNotSupported)
    }

    /// Sends Pairing_Failed, which also ends the pairing on this device. Core Vol 3, Part H, 3.5.5.
    private func refuse(_ reason: PairingFailedReason) -> [SecurityAction] {
        let answer = SecurityAction.send(SMP.PairingFailed(reason: reason).bytes)
        return isBusy ? [answer, .failed(.peer(.pairingRefused(reason)))] : [answer]
    }

    // MARK: Time

    /// Restarts the timer with each sent command and with a received Security_Request, and stops it at the end. Core Vol 3, Part H, 3.4.
    private mutating func watched(_ actions: [SecurityAction], at now: Microseconds) -> [SecurityAction] {
        for action in actions {
            switch action {
            case .completed, .failed: if !isSilent { state = .idle }
            case .send, .ask, .keypress, .encrypt: break
            }
        }
        if !isBusy {
            deadline = nil
        } else if deadline == nil || actions.contains(where: \.restartsTimer) {
            deadline = now + Self.timeOut
        }
        return actions
    }

    /// Handles the expired deadline.
    mutating func expire() -> [SecurityAction] {
        guard isBusy else { return [] }
        state = .timedOut
        deadline = nil
        return [.failed(.peer(.timedOut(.pairing)))]
    }

    // MARK: Encryption

    /// The key for LE_Long_Term_Key_Request; nil if no key matches. Core Vol 4, Part E, 7.7.65.5.
    mutating func key(encryptedDiversifier: UInt16, randomNumber: UInt64, of bond: Bond?) -> [UInt8]? {
        if case .pairing(let pairing) = state {
            guard let (key, level) = pairing.temporaryKey,
                key.isNamed(encryptedDiversifier: encryptedDiversifier, randomNumber: randomNumber)
            else { return nil }
            given = GivenKey(key, level, isKept: false)
            return key.value
        }
        guard let bond, let key = bond.localLongTermKey,
            key.isNamed(encryptedDiversifier: encryptedDiversifier, randomNumber: randomNumber)
        else { return nil }
        given = GivenKey(key, bond.level(with: key), isKept: true)
        return key.value
    }

    /// The key for encryption as central.
    mutating func encryptionKey(of bond: Bond?) -> LongTermKey? {
        guard let bond, let key = bond.peerLongTermKey else { return nil }
        given = GivenKey(key, bond.level(with: key), isKept: true)
        return key
    }

    /// Handles HCI_Encryption_Change or Encryption_Key_Refresh_Complete; nil if the controller cannot have encrypted the link. Core Vol 4,
    /// Part E, 7.7.8 and 7.7.39.
    mutating func encryptionChanged(isOn: Bool, _ setup: PairingSetup, at now: Microseconds) -> [SecurityAction]? {
        guard isOn else {
            (level, keySize, isBondProven) = (.none, 0, false)
            return []
        }
        if case .pairing(let pairing) = state, setup.isCentral, let (key, level) = pairing.temporaryKey {
            given = GivenKey(key, level, isKept: false)
        }
        guard let given else { return nil }
        (level, keySize, isBondProven) = (given.level, given.size, given.isKept)
        switch state {
        case .pairing(var pairing):
            let actions = pairing.encrypted()
            state = .pairing(pairing)
            return watched(actions, at: now)
        case .awaitCentral(let settings) where level < settings.minimumLevel:
            return watched([.failed(.peer(.pairingRefused(.authenticationRequirements)))], at: now)
        case .awaitCentral, .encrypting: return watched([.completed(existing(setup), nil, acceptsWeaker: false)], at: now)
        case .idle, .timedOut: return []
        }
    }

    /// The bond of the pairing that encrypted the link was stored.
    mutating func bondKept() { isBondProven = level > .none }

    /// Encryption of the link has failed.
    mutating func encryptionFailed(_ error: HostError, at now: Microseconds) -> [SecurityAction] {
        switch state {
        case .pairing, .encrypting: watched([.failed(error)], at: now)
        case .idle, .awaitCentral, .timedOut: []
        }
    }

    private func existing(_ setup: PairingSetup) -> PairingResult {
        PairingResult(
            peer: setup.bond.map { PeerIdentity($0.identity, isResolved: $0.identity != setup.peer) } ?? PeerIdentity(setup.peer),
            level: level, model: nil, isSecureConnections: setup.bond?.isSecureConnections ?? false, keySize: keySize, isBonded: true)
    }
}

extension LinkSecurity {
    /// The security level that a Security Request asks for. Core Vol 3, Part H, 2.4.6.
    fileprivate init(asked requirements: AuthReq) { self = requirements.contains(.mitm) ? .authenticated : .encrypted }
}

extension SecurityAction {
    fileprivate var restartsTimer: Bool {
        switch self {
        case .send, .encrypt: true
        case .ask, .keypress, .completed, .failed: false
        }
    }
}
