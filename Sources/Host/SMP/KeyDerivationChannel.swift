import BBPackets
import BBTiming

/// The security manager channel of a BR/EDR link, on which LE keys are derived from the link key. Core Vol 3, Part H, 3; Part A, 2.1.
final class KeyDerivationChannel {
    /// Maximum number of PDUs held until the encryption of the link is known.
    private static let mostHeld = 8

    private var machine = BREDRPairing()
    /// Owns this channel.
    unowned var connection: ClassicConnection?
    private let channel: L2CAPChannel
    private let host: Host
    private var timer: Timer?
    /// Setup of the current procedure.
    private var setup: PairingSetup?
    private var held: [[UInt8]] = []
    private var pairing: Promise<PairingResult>?

    init(on channel: L2CAPChannel, host: Host) {
        self.channel = channel
        self.host = host
        channel.user = { [unowned self] in received($0.octets) }
    }

    /// Starts pairing as central.
    func pair(_ settings: PairingSettings) async throws -> PairingResult {
        guard let connection else { throw HostError.misuse(.notConnected) }
        guard pairing == nil, !machine.isBusy else { throw HostError.misuse(.busy(.pairing)) }
        guard connection.isCentral else { throw HostError.misuse(.onlyForCentrals) }
        if connection.security.machine.encryption != nil {
            let fixed = try await connection.channels.fixedChannels()
            guard fixed >> UInt64(CID.bredrSMP) & 1 == 1 else { throw HostError.peer(.pairingFailed(.pairingNotSupported)) }
        }
        // The key may have changed meanwhile.
        guard let link = connection.security.machine.encryption else {
            throw HostError.peer(.pairingRefused(.generationNotAllowed))
        }
        guard pairing == nil, !machine.isBusy else { throw HostError.misuse(.busy(.pairing)) }
        let promise = Promise<PairingResult>(on: host.loop)
        pairing = promise
        perform(machine.pair(currentSetup(connection), settings, over: link, at: host.loop.now))
        // After a timeout, no procedure can be started.
        if !machine.isBusy { promise.fail(HostError.peer(.timedOut(.pairing))) }
        return try await promise.value()
    }

    /// Handles held PDUs once the encryption of the link is known.
    func settled() {
        let waiting = held
        held.removeAll()
        for pdu in waiting { received(pdu) }
    }

    func ended(_ error: HostError) {
        timer.map(host.loop.cancel)
        timer = nil
        (setup, held) = (nil, [])
        pairing?.fail(error)
        pairing = nil
    }

    private func received(_ pdu: [UInt8]) {
        guard let connection else { return }
        if connection.security.machine.isMeasuring {
            if held.count < Self.mostHeld { held.append(pdu) }
            return
        }
        perform(machine.received(pdu, currentSetup(connection), over: connection.security.machine.encryption, at: host.loop.now))
    }

    private func currentSetup(_ connection: ClassicConnection) -> PairingSetup {
        if let setup { return setup }
        let made = host.pairing.setup(for: connection)
        setup = made
        return made
    }

    // MARK: Actions

    private func perform(_ actions: [SecurityAction]) {
        timer.map(host.loop.cancel)
        timer = machine.deadline.map { host.loop.schedule(at: $0) { [weak self] in self?.expired() } }
        if !machine.isBusy { setup = nil }
        for action in actions {
            switch action {
            case .send(let pdu): channel.transmit(pdu)
            case .completed(let result, let bond, _): completed(result, bond)
            case .failed(let error): failed(error)
            case .ask, .keypress, .encrypt: break
            }
        }
    }

    private func expired() {
        timer = nil
        perform(machine.expire())
    }

    private func completed(_ result: PairingResult, _ bond: Bond?) {
        var result = result
        result.isBonded = bond.map(keep) ?? false
        pairing?.fulfil(result)
        pairing = nil
        connection?.tell(.derived(result))
    }

    /// Stores a bond unless the existing one is stronger. Core Vol 3, Part C, 14.1.
    private func keep(_ bond: Bond) -> Bool {
        let (known, quirks) = (host.keys[PeerIdentity(bond.identity)], host.context.quirks.pairing)
        if quirks.keepsOldLongTermKey, known?.localLongTermKey != nil { return true }
        if let known, !quirks.replacesStrongerLongTermKeys, !bond.mayReplace(known, pairedWith: connection?.bond) { return false }
        var bond = bond.keepingLinkKey(of: known)
        bond.addressOnAir = known?.addressOnAir
        host.keys.add(bond)
        return true
    }

    private func failed(_ error: HostError) {
        pairing?.fail(error)
        pairing = nil
        connection?.tell(.derivationFailed(error))
    }
}
