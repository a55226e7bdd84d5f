import BBPackets
import BBTiming

/// The security manager channel of one connection: timers, user dialogue and HCI commands around `SecurityManager`. Core Vol 3, Part H.
final class SecurityChannel {
    private(set) var machine = SecurityManager()
    /// Owns this channel.
    unowned var connection: Connection?
    private let channel: L2CAPChannel
    private let loop: RunLoop
    private var timer: Timer?
    /// Setup of the current procedure.
    private var setup: PairingSetup?
    private var pairing: Promise<PairingResult>?
    private var encryption: Promise<Void>?
    /// Number of the current procedure, to match replies of the user.
    private var procedure = 0
    /// False to ignore received PDUs.
    var isInUse = true

    init(on channel: L2CAPChannel, loop: RunLoop) {
        self.channel = channel
        self.loop = loop
        channel.user = { [unowned self] in received($0.octets) }
    }

    // MARK: Calls of the host

    /// Pairs, or joins the pairing that the peer has started. If that does not fulfil the settings, pairs again.
    func pair(_ settings: PairingSettings) async throws -> PairingResult {
        // The peer may begin the next procedure in the turn in which one ends.
        while let joined = try await join() {
            if case .paired(let result) = joined, result.level >= settings.minimumLevel { return result }
        }
        guard let connection, connection.isConnected else { throw HostError.misuse(.notConnected) }
        guard pairing == nil, !machine.isBusy else { throw HostError.misuse(.busy(.pairing)) }
        guard !machine.isSilent else { throw HostError.peer(.timedOut(.pairing)) }
        let promise = Promise<PairingResult>(on: loop)
        pairing = promise
        let setup = currentSetup(connection, mayPair: true)
        perform(machine.pair(setup, settings, at: loop.now), connection)
        return try await promise.value()
    }

    /// A procedure of the peer that has ended.
    private enum Joined {
        case encrypted
        case paired(PairingResult)
    }

    /// Waits for the encryption or the pairing that the peer has started; nil if there is none.
    private func join() async throws -> Joined? {
        guard let connection, connection.isConnected, pairing == nil else { return nil }
        let promise = Promise<PairingResult>(on: loop)
        if machine.isEncrypting {
            pairing = promise
            do { _ = try await promise.value() } catch HostError.peer(.rejected) {}
            return .encrypted
        }
        guard let actions = machine.join(at: loop.now) else { return nil }
        pairing = promise
        perform(actions, connection)
        return .paired(try await promise.value())
    }

    func encrypt(with bond: Bond?) async throws {
        guard let connection, connection.isConnected else { throw HostError.misuse(.notConnected) }
        // The peripheral may have requested the same.
        let isUnderWay = machine.isEncrypting
        guard encryption == nil, isUnderWay || !machine.isBusy else { throw HostError.misuse(.busy(.pairing)) }
        let key = isUnderWay ? nil : machine.encryptionKey(of: bond)
        guard isUnderWay || key != nil else { throw HostError.misuse(.noKey) }
        let promise = Promise<Void>(on: loop)
        encryption = promise
        defer { if encryption === promise { encryption = nil } }
        if let key { enable(key, connection) }
        do {
            try await promise.value(until: loop.now + Host.procedureTimeOut)
        } catch is TimeOut {
            throw HostError.peer(.timedOut(.encryption))
        }
    }

    func cancel() {
        guard let connection else { return }
        perform(machine.cancel(at: loop.now), connection)
    }

    private func answered(_ answer: PairingAnswer, in procedure: Int) {
        guard procedure == self.procedure, let connection else { return }
        perform(machine.answered(answer, at: loop.now), connection)
    }

    // MARK: Input

    private func received(_ pdu: [UInt8]) {
        guard isInUse, let connection else { return }
        // The request of the peripheral is already being served.
        if encryption != nil, pdu.first == SMP.SecurityRequest.opcode { return }
        if pdu.first == SMP.PairingRequest.opcode, machine.isLoss(of: connection.bond) { connection.tell(.bondLost) }
        perform(machine.received(pdu, currentSetup(connection, mayPair: connection.host.pairingSettings != nil), at: loop.now), connection)
    }

    func keyRequested(_ event: HCIEvents.LELongTermKeyRequest) {
        guard let connection else { return }
        let key = machine.key(
            encryptedDiversifier: event.encryptedDiversifier, randomNumber: event.randomNumber, of: connection.context.keys[connection.peer]
        )
        if let key {
            connection.host.commands.post(HCICommands.LELongTermKeyRequestReply(connectionHandle: connection.handle, longTermKey: key))
        } else {
            connection.host.commands.post(HCICommands.LELongTermKeyRequestNegativeReply(connectionHandle: connection.handle))
        }
    }

    /// Handles Encryption Change or Encryption Key Refresh Complete; false if the controller cannot have encrypted the link.
    func encryptionChanged(isOn: Bool, _ status: ErrorCode) -> Bool {
        guard let connection else { return true }
        guard status == .success else {
            encryptionFailed(.peer(.rejected(HCICommands.LEEnableEncryption.name, status)), connection)
            return true
        }
        guard let actions = machine.encryptionChanged(isOn: isOn, currentSetup(connection, mayPair: false), at: loop.now) else {
            return false
        }
        let encrypted = encryption
        encryption = nil
        encrypted?.fulfil(())
        connection.tell(.encryptionChanged(isOn))
        perform(actions, connection)
        return true
    }

    func ended(_ error: HostError) {
        timer.map(loop.cancel)
        timer = nil
        procedure += 1
        failEncryption(error)
        let pairing = self.pairing
        self.pairing = nil
        pairing?.fail(error)
        if setup != nil, let connection { connection.host.pairingDialogue.ended(connection) }
        setup = nil
    }

    // MARK: Actions

    /// Setup of the current procedure, or a new one.
    private func currentSetup(_ connection: Connection, mayPair: Bool) -> PairingSetup {
        if let setup { return setup }
        let made = connection.host.pairing.setup(for: connection, mayPair: mayPair)
        setup = made
        return made
    }

    private func perform(_ actions: [SecurityAction], _ connection: Connection) {
        watch()
        if !machine.isBusy { setup = nil }
        for action in actions {
            switch action {
            case .send(let pdu): channel.transmit(pdu)
            case .ask(let question): ask(question, connection)
            case .keypress(let keypress): connection.host.pairingDialogue.keypress(connection, keypress)
            case .encrypt(let key): enable(key, connection)
            case .completed(let result, let bond, let acceptsWeaker): completed(result, bond, acceptsWeaker: acceptsWeaker, connection)
            case .failed(let error): failed(error, connection)
            }
        }
    }

    private func watch() {
        timer.map(loop.cancel)
        let early: Microseconds = connection?.context.quirks.pairing.cutsTimeOutShort == true ? .seconds(10) : .zero
        timer = machine.deadline.map { loop.schedule(at: $0 - early) { [weak self] in self?.expired() } }
    }

    private func expired() {
        timer = nil
        guard let connection, !connection.context.quirks.pairing.outlivesTimeOut else { return }
        perform(machine.expire(), connection)
    }

    private func ask(_ question: PairingQuestion, _ connection: Connection) {
        let procedure = procedure
        let dialogue = connection.host.pairingDialogue
        switch question {
        case .showPasskey(let passkey): dialogue.showPasskey(connection, passkey)
        case .enterPasskey: dialogue.enterPasskey(connection) { [weak self] in self?.answered(.passkey($0), in: procedure) }
        case .compare(let number): dialogue.compare(connection, number) { [weak self] in self?.answered(.agrees($0), in: procedure) }
        case .consent: dialogue.consent(connection) { [weak self] in self?.answered(.agrees($0), in: procedure) }
        }
    }

    private func enable(_ key: LongTermKey, _ connection: Connection) {
        let command = HCICommands.LEEnableEncryption(
            connectionHandle: connection.handle, randomNumber: key.randomNumber, encryptedDiversifier: key.encryptedDiversifier,
            longTermKey: key.value)
        connection.host.commands.submit(opcode: HCICommands.LEEnableEncryption.opcode, HCIPacket(command: command)) { [weak self] in
            guard let self, let connection = self.connection else { return }
            switch $0 {
            case .success(let answer) where answer.status == .success: break
            case .success(let answer):
                encryptionFailed(.peer(.rejected(HCICommands.LEEnableEncryption.name, answer.status)), connection)
            case .failure(let error): encryptionFailed(error, connection)
            }
        }
    }

    /// The wait ends with the event, since the peer may ask for security again with the next packet.
    private func failEncryption(_ error: HostError) {
        let failed = encryption
        encryption = nil
        failed?.fail(error)
    }

    private func encryptionFailed(_ error: HostError, _ connection: Connection) {
        let usesBond = encryption != nil || machine.isEncrypting
        if usesBond, case .peer(.rejected(_, .pinOrKeyMissing)) = error { connection.tell(.bondLost) }
        failEncryption(error)
        perform(machine.encryptionFailed(error, at: loop.now), connection)
    }

    private func completed(_ result: PairingResult, _ bond: Bond?, acceptsWeaker: Bool, _ connection: Connection) {
        connection.host.pairing.succeeded(with: connection.addresses.peer, usedData: machine.usesOutOfBandData)
        var result = result
        result.isBonded = bond.map { keep($0, acceptsWeaker: acceptsWeaker, connection) } ?? result.isBonded
        finish(connection)
        pairing?.fulfil(result)
        pairing = nil
        connection.tell(.paired(result))
    }

    /// Stores a bond; false if it must not replace the existing one.
    private func keep(_ bond: Bond, acceptsWeaker: Bool, _ connection: Connection) -> Bool {
        let keys = connection.context.keys
        let known = keys[PeerIdentity(bond.identity)]
        var bond = bond
        bond.addressOnAir = connection.addresses.peer.isPrivate ? nil : connection.addresses.peer
        if connection.context.quirks.pairing.keepsOldBond, known != nil { return true }
        if let known, !acceptsWeaker, !bond.mayReplace(known, pairedWith: connection.bond) { return false }
        keys.add(bond.keepingLinkKey(of: known, connection.context.quirks.pairing))
        machine.bondKept()
        connection.bearer.client.hasChanged()
        return true
    }

    private func failed(_ error: HostError, _ connection: Connection) {
        connection.host.pairing.failed(with: connection.addresses.peer, error, usedData: machine.usesOutOfBandData)
        finish(connection)
        pairing?.fail(error)
        pairing = nil
        connection.tell(.pairingFailed(error))
    }

    private func finish(_ connection: Connection) {
        procedure += 1
        connection.host.pairingDialogue.ended(connection)
    }
}
