import HCI
import Host
import Packets
import Timing

/// The work of `bluebench pair`: finds the peer, pairs or encrypts, and tells what happens.
final class PairSession {
    private let host: Host
    private let settings: PairingSettings
    private let command: PairCommand
    private let peer: DeviceAddress?
    private let input: TerminalInput
    private let wait: WaitLine
    private var listener: Listeners<(ConnectionEvent) -> Void>.Token?

    /// - Parameter peer: whom to connect to; nil to advertise.
    init(_ host: Host, settings: PairingSettings, command: PairCommand, peer: DeviceAddress?) {
        self.host = host
        self.settings = settings
        self.command = command
        self.peer = peer
        input = TerminalInput(on: host.loop)
        wait = WaitLine(on: host.loop, isSilent: command.json)
        host.pairingSettings = settings
        host.pairingDialogue = dialogue()
    }

    /// Pairs, or encrypts with the key of a bond, and disconnects.
    func run() async throws -> PairEvent {
        let end = host.loop.now + .seconds(command.seconds)
        let link = try await connection(until: end)
        defer { wait.end() }
        var connected = PairEvent("connected")
        connected.peer = link.peer.address.argument
        connected.role = link.isCentral ? "central" : "peripheral"
        tell(connected, "connected to \(link.peer)")
        wait.begin("waiting for \(link.peer) to pair", until: end)
        do {
            let result = try await link.isCentral ? asCentral(link) : asPeripheral(link, until: end)
            wait.end()
            try await leave(link)
            return result
        } catch {
            // The peer is to hear why.
            try? await leave(link)
            throw error
        }
    }

    /// Tells of the end of `work`, whatever it is.
    func report(_ work: () async throws -> PairEvent) async throws {
        do {
            let event = try await work()
            tell(event, Self.line(event))
        } catch {
            wait.end()
            let failure = PairAdvice.failure(error)
            var event = PairEvent(error is CancellationError ? "interrupted" : "failed")
            event.reason = failure.message
            if command.json { Console.write(event.json) }
            throw failure
        }
    }

    // MARK: The link

    private func connection(until end: Microseconds) async throws -> Connection {
        if let peer {
            wait.begin("looking for \(peer)", until: end)
            var connect = ConnectSettings()
            connect.limit = end - host.loop.now
            return try await host.connect(to: peer, connect)
        }
        let name = command.advertise ?? ""
        wait.begin("waiting for a peer that connects to '\(name)'", until: end)
        let data = AdvertisingData([.flags([.generalDiscoverable, .brEDRNotSupported]), .completeLocalName(name)])
        let set = try await host.advertise(AdvertisingSettings(data: data))
        var advertising = PairEvent("advertising")
        let address = host.privateAddress ?? host.address
        advertising.peer = address.argument
        tell(advertising, "advertising as '\(name)', \(address)")
        let link = try await host.nextIncomingConnection(within: end - host.loop.now)
        if set.isRunning { try? await set.stop() }
        return link
    }

    private func asCentral(_ link: Connection) async throws -> PairEvent {
        guard link.bond != nil, !command.again else { return event(try await link.pair(settings)) }
        try await link.encrypt()
        return encrypted(link)
    }

    /// The central pairs, or encrypts the link with the key of the bond that the two have.
    private func asPeripheral(_ link: Connection, until end: Microseconds) async throws -> PairEvent {
        let hadBond = link.bond != nil
        let done = Promise<PairEvent>(on: host.loop)
        listener = link.events.add { [self, unowned link] change in
            switch change {
            case .paired(let result): done.fulfil(event(result))
            case .pairingFailed(let error): done.fail(error)
            case .encryptionChanged(true) where hadBond && link.security > .none && !command.again: done.fulfil(encrypted(link))
            case .disconnected(let reason): done.fail(HostError.peer(.disconnected(reason)))
            default: break
            }
        }
        defer { if let listener { link.events.remove(listener) } }
        if command.request { return event(try await link.pair(settings)) }
        do { return try await done.value(until: end) } catch is TimeOut {
            throw CommandFailure(.fail, "the peer did not pair within \(command.seconds) s; --request asks it to")
        }
    }

    /// Ends the link once the peer has got everything. A peripheral lets the central end it, which may have more to do.
    private func leave(_ link: Connection) async throws {
        let end = host.loop.now + .seconds(2)
        while link.isConnected, host.loop.now < end, link.queuedFragments + link.fragmentsInController > 0 {
            try await host.loop.sleep(for: .milliseconds(10))
        }
        if !link.isCentral {
            do {
                _ = try await link.ended(within: .seconds(2))
                return
            } catch HostError.environment(.timedOut) {}
        }
        if link.isConnected { try await link.disconnect() }
    }

    // MARK: Questions

    private func dialogue() -> PairingDialogue {
        var dialogue = PairingDialogue(
            showPasskey: { [weak self] _, passkey in self?.show(passkey) },
            enterPasskey: { [weak self] _, answer in self?.enterPasskey(answer) },
            compare: { [weak self] _, number, answer in self?.compare(number, answer) },
            consent: { [weak self] link, answer in self?.consent(link, answer) })
        dialogue.ended = { [weak self] _ in self?.input.forget() }
        return dialogue
    }

    private func show(_ passkey: UInt32) {
        var event = PairEvent("passkey")
        event.passkey = PairEvent.digits(passkey)
        tell(event, "passkey \(PairEvent.digits(passkey)): enter it at the other side")
    }

    private func enterPasskey(_ answer: @escaping (UInt32?) -> Void) {
        tell(PairEvent("enter_passkey"), "enter the passkey that the other side shows:")
        if let passkey = command.passkey { return answer(passkey) }
        input.line { line in answer(line.flatMap { UInt32($0.filter { !$0.isWhitespace }) }.flatMap { $0 <= 999_999 ? $0 : nil }) }
    }

    private func compare(_ number: UInt32, _ answer: @escaping (Bool) -> Void) {
        var event = PairEvent("compare")
        event.number = PairEvent.digits(number)
        tell(event, "does the other side show \(PairEvent.digits(number)), too? yes or no:")
        decide(answer)
    }

    private func consent(_ link: any SecuredLink, _ answer: @escaping (Bool) -> Void) {
        var event = PairEvent("consent")
        event.peer = link.peer.address.argument
        tell(event, "pair with \(link.peer)? yes or no:")
        decide(answer)
    }

    private func decide(_ answer: @escaping (Bool) -> Void) {
        if command.accept { return answer(true) }
        input.line { line in answer(["y", "yes"].contains(line?.lowercased().filter { !$0.isWhitespace })) }
    }

    // MARK: Words

    private func tell(_ event: PairEvent, _ line: String) {
        wait.end()
        if command.json { Console.write(event.json) } else { Console.line(line) }
    }

    private func event(_ result: PairingResult) -> PairEvent {
        var event = PairEvent(result.model == nil ? "encrypted" : "paired")
        event.peer = result.peer.address.argument
        event.level = result.level.name
        event.model = result.model?.rawValue
        event.secureConnections = result.isSecureConnections
        event.keySize = result.keySize
        event.bonded = result.isBonded
        return event
    }

    private func encrypted(_ link: Connection) -> PairEvent {
        var event = PairEvent("encrypted")
        event.peer = link.peer.address.argument
        event.level = link.security.name
        event.keySize = link.encryptionKeySize
        event.secureConnections = link.bond?.isSecureConnections
        event.bonded = true
        return event
    }

    private static func line(_ event: PairEvent) -> String {
        let how = event.event == "paired" ? "paired with" : "encrypted with the key of the bond with"
        var words = ["\(how) \(event.peer ?? "the peer"): \(event.level ?? "")"]
        if let model = event.model { words.append(model) }
        words.append(event.secureConnections == true ? "LE Secure Connections" : "LE legacy pairing")
        if let size = event.keySize { words.append("key of \(size) octets") }
        words.append(event.bonded == true ? "bonded" : "not bonded")
        return words.joined(separator: ", ")
    }
}

extension LinkSecurity {
    /// As JSON has it.
    fileprivate var name: String {
        switch self {
        case .none: "none"
        case .encrypted: "encrypted"
        case .authenticated: "authenticated"
        case .secureConnections: "secure_connections"
        }
    }
}
