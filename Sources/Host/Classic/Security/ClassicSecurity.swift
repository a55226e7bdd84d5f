import BBHCI
import BBPackets
import BBTiming

/// Security of one BR/EDR link: runs the state machine with controller commands, user dialogue, and callers that wait for a level. Core Vol
/// 3, Part C, 5.2.2.
final class ClassicSecurity {
    private struct Waiter {
        var level: SecurityMode4Level
        /// No service requires the level: a pairing is for bonding alone.
        var isDedicated: Bool
        var promise: Promise<Void>
    }

    /// Time without progress after which a level counts as not reached; long enough for a user to reply.
    private static let timeout = Microseconds.seconds(120)

    private(set) var machine: BREDRSecurity
    /// Owns this object.
    unowned var connection: ClassicConnection?
    /// Called when the level is known again.
    var settled: () -> Void = {}
    private let host: Host
    private let handle: ConnectionHandle
    private let address: BDADDR
    private var waiters: [Waiter] = []
    private var pairing: Promise<PairingResult>?
    /// A key was created, but the link is not encrypted with it yet.
    private var hasNewKey = false
    private var isKept = false
    /// The user was shown or asked something.
    private var isAsking = false
    /// Number of the current question, to match replies.
    private var question = 0

    init(_ handle: ConnectionHandle, of address: BDADDR, host: Host) {
        (self.handle, self.address, self.host) = (handle, address, host)
        machine = BREDRSecurity(host.pairingSettings, known: host.keys.linkKey(of: address))
    }

    // MARK: Calls of the host

    /// Raises the link to a level, with an existing key or by pairing, and waits.
    func secure(to level: SecurityMode4Level, isDedicated: Bool = false) async throws {
        guard machine.level < level else { return }
        let waiter = Waiter(level: level, isDedicated: isDedicated, promise: Promise<Void>(on: host.loop))
        waiters.append(waiter)
        proceed()
        do {
            try await waiter.promise.value(until: host.loop.now + Self.timeout)
        } catch is TimeOut {
            waiters.removeAll { $0.promise === waiter.promise }
            throw HostError.peer(.timedOut(.encryption))
        }
    }

    /// Pairs, even if there is a key.
    func pair(_ settings: PairingSettings) async throws -> PairingResult {
        guard pairing == nil, machine.isIdle, waiters.isEmpty else { throw HostError.misuse(.busy(.pairing)) }
        let promise = Promise<PairingResult>(on: host.loop)
        pairing = promise
        learn()
        perform(machine.pair(settings))
        do {
            return try await promise.value(until: host.loop.now + Self.timeout)
        } catch is TimeOut {
            pairing = nil
            throw HostError.peer(.timedOut(.encryption))
        }
    }

    /// Continues with the level that callers wait for.
    private func proceed() {
        guard machine.isIdle, pairing == nil, let level = waiters.map(\.level).max() else { return }
        learn()
        perform(machine.require(level, isDedicated: waiters.allSatisfy(\.isDedicated)))
    }

    private func learn() {
        machine.learn(
            host.pairingSettings, known: host.keys.linkKey(of: address), hasToldData: host.classicSetup.hasOutOfBandData,
            quirks: host.context.quirks.pairing)
    }

    private func answered(_ answer: PairingAnswer, to question: Int) {
        guard question == self.question, isAsking else { return }
        perform(machine.answered(answer))
    }

    // MARK: Events

    func received(_ packet: HCIPacket) throws(PDUError) {
        learn()
        let wasMeasuring = machine.isMeasuring
        guard let actions = try machine.received(packet) else { return }
        defer { if wasMeasuring { settleOnceMeasured() } }
        if packet.eventCode == HCIEvents.LinkKeyNotification.code { hasNewKey = true }
        perform(actions)
        if packet.eventCode == HCIEvents.SimplePairingComplete.code {
            pairingEnded(try packet.event(as: HCIEvents.SimplePairingComplete.self).status)
        }
    }

    /// Reports a failed pairing; the responder gets no other event about it. Core Vol 4, Part E, 7.7.45.
    private func pairingEnded(_ status: ErrorCode) {
        endQuestions()
        guard status != .success, machine.isIdle else { return }
        connection?.tell(.pairingFailed(.peer(.rejected(HCIEvents.SimplePairingComplete.name, status))))
        proceed()
    }

    func ended(_ error: HostError) {
        endQuestions()
        fail(error)
    }

    // MARK: Actions

    private func perform(_ actions: [BREDRSecurity.Action]) {
        for action in actions {
            switch action {
            case .authenticate: authenticate()
            case .encrypt, .refresh: encrypt(action)
            case .readKeySize: readKeySize()
            case .ask(let question): ask(question)
            case .keep(let key):
                isKept = true
                host.keys.keep(key, of: address)
            case .reached(let level): reached(level)
            case .failed(let status): failed(status)
            default: if let command = action.command(for: address, on: handle) { submit(command) { _ in } }
            }
        }
    }

    /// Sends a command; its answer is handled while the link exists.
    private func submit(_ command: HCIPacket, _ answered: @escaping (CommandAnswer) -> Void) {
        guard let opcode = command.commandOpcode else { return }
        host.commands.submit(opcode: opcode, command) { [weak self] result in
            guard let connection = self?.connection, connection.isConnected else { return }
            switch result {
            case .success(let answer): answered(answer)
            case .failure(let error): self?.fail(error)
            }
        }
    }

    private func authenticate() {
        submit(HCIPacket(command: HCICommands.AuthenticationRequested(connectionHandle: handle))) { [weak self] answer in
            guard let self, answer.status != .success else { return }
            // The procedure of the peer runs first; afterwards the requested level is checked again.
            if answer.status == .commandDisallowed, pairing == nil {
                machine.deferred()
            } else {
                perform(machine.authenticated(answer.status))
            }
            settleOnceMeasured()
        }
    }

    private func encrypt(_ action: BREDRSecurity.Action) {
        guard let command = action.command(for: address, on: handle) else { return }
        submit(command) { [weak self] answer in
            guard let self, answer.status != .success else { return }
            perform(machine.encryptionChanged(answer.status, isAESCCM: nil))
        }
    }

    private func readKeySize() {
        guard !host.workarounds.avoidedCommands.contains(HCICommands.ReadEncryptionKeySize.opcode) else {
            host.context.learned.note(
                .claimedAndRefused, "the controller cannot tell the size of an encryption key: such a link is not trusted")
            perform(machine.keySizeRead(.unknownHCICommand, octets: 0))
            return settled()
        }
        submit(HCIPacket(command: HCICommands.ReadEncryptionKeySize(connectionHandle: handle))) { [weak self] answer in
            guard let self else { return }
            let size = (try? HCICommands.ReadEncryptionKeySize.Return(prefixOf: answer.returns))?.keySize ?? 0
            perform(machine.keySizeRead(answer.status, octets: Int(size)))
            settleOnceMeasured()
        }
    }

    private func settleOnceMeasured() { if !machine.isMeasuring { settled() } }

    private func ask(_ question: PairingQuestion) {
        guard let connection else { return }
        self.question += 1
        isAsking = true
        let (number, dialogue) = (self.question, host.pairingDialogue)
        switch question {
        case .showPasskey(let passkey): dialogue.showPasskey(connection, passkey)
        case .enterPasskey: dialogue.enterPasskey(connection) { [weak self] in self?.answered(.passkey($0), to: number) }
        case .compare(let value): dialogue.compare(connection, value) { [weak self] in self?.answered(.agrees($0), to: number) }
        case .consent: dialogue.consent(connection) { [weak self] in self?.answered(.agrees($0), to: number) }
        }
    }

    private func endQuestions() {
        guard isAsking, let connection else { return }
        isAsking = false
        host.pairingDialogue.ended(connection)
    }

    // MARK: Closing

    private func reached(_ level: SecurityMode4Level) {
        let result = hasNewKey || pairing != nil ? self.result(level) : nil
        (hasNewKey, isKept) = (false, false)
        if let result {
            connection?.tell(.paired(result))
            pairing?.fulfil(result)
            pairing = nil
        }
        connection?.tell(.secured(level))
        if result?.isBonded == true { derive() }
        let served = waiters.filter { $0.level <= level }
        waiters.removeAll { $0.level <= level }
        for waiter in served { waiter.promise.fulfil(()) }
        proceed()
    }

    /// Derives LE keys from a new P-256 key if both devices want them; the central starts.
    private func derive() {
        guard let connection, connection.isCentral, let settings = host.pairingSettings, let link = machine.encryption,
            settings.localKeys.intersection(settings.peerKeys).contains(.encKey), link.isAESCCM, link.linkKey.strength.isSecureConnections
        else { return }
        // The result is reported as an event.
        _ = host.loop.start { _ = try? await connection.deriveKeys(settings) }
    }

    private func result(_ level: SecurityMode4Level) -> PairingResult {
        let encryption = machine.encryption
        return PairingResult(
            peer: PeerIdentity(DeviceAddress(address, kind: .public)), level: level.linkSecurity, model: hasNewKey ? machine.model : nil,
            isSecureConnections: encryption?.linkKey.strength.isSecureConnections ?? false, keySize: encryption?.keySize ?? 0,
            isBonded: isKept)
    }

    private func failed(_ status: ErrorCode) {
        let error = HostError.peer(.rejected(HCICommands.AuthenticationRequested.name, status))
        connection?.tell(.pairingFailed(error))
        fail(error)
    }

    private func fail(_ error: HostError) {
        (hasNewKey, isKept) = (false, false)
        let (failed, pairing) = (waiters, pairing)
        (waiters, self.pairing) = ([], nil)
        for waiter in failed { waiter.promise.fail(error) }
        pairing?.fail(error)
    }
}
