import BBHCI
import BBHost
import BBPackets
import BBTiming

/// The operation of `bluebench pair --transport bredr`: pages the peer or becomes discoverable, pairs or encrypts, and reports the events.
final class ClassicPairSession {
    private let host: Host
    private let settings: PairingSettings
    private let command: PairCommand
    private let peer: BDADDR?
    private let user: PairUser
    private var wait: WaitLine { user.wait }
    /// The pairing or encryption by an initiator, and the LE keys derived from it, or their failures.
    private let (done, keys): (Promise<PairEvent>, Promise<PairEvent>)

    /// - Parameter peer: the peer to page; nil to be discoverable.
    init(_ host: Host, settings: PairingSettings, command: PairCommand, peer: BDADDR?, user: PairUser) {
        (self.host, self.settings, self.command, self.peer, self.user) = (host, settings, command, peer, user)
        (done, keys) = (Promise(on: host.loop), Promise(on: host.loop))
    }

    func run() async throws -> PairEvent {
        let end = host.loop.now + .seconds(command.ends.seconds)
        // The peer may pair, or leave, in the turn in which it connects.
        let listener = host.newClassicConnections.add { [self] in watch($0) }
        defer { host.newClassicConnections.remove(listener) }
        let link = try await connection(until: end)
        defer { wait.end() }
        var connected = PairEvent("connected", link)
        connected.role = link.isInitiator ? "initiator" : "acceptor"
        user.tell(connected, "connected to \(link.peer) over BR/EDR")
        wait.begin("waiting for \(link.peer) to pair", until: end)
        var result = try await link.isInitiator ? asInitiator(link) : asAcceptor(link, until: end)
        result.transport = TransportOption.bredr.rawValue
        result.cipher = link.encryptionKeySize == 0 ? nil : link.usesAESCCM ? "aes_ccm" : "e0"
        result.isDowngraded = link.isDowngraded
        wait.end()
        await host.loop.cleanUp(within: .seconds(15)) { [self, result] in try await leave(link, after: result) }
        return result
    }

    private func connection(until end: Microseconds) async throws -> ClassicConnection {
        if let peer {
            wait.begin("paging \(DeviceAddress(peer, kind: .public).argument)", until: end)
            return try await host.connectClassic(to: peer)
        }
        let name = command.ends.advertise ?? ""
        let arrival = Promise<ClassicConnection>(on: host.loop)
        let token = host.newClassicConnections.add { arrival.fulfil($0) }
        defer { host.newClassicConnections.remove(token) }
        try await host.describeClassic(ClassicDescription(name: name))
        try await host.setScan(isDiscoverable: true, isConnectable: true)
        var found = PairEvent("discoverable")
        found.peer = host.controller.address.argument
        user.tell(found, "can be found as '\(name)', \(host.controller.address)")
        wait.begin("waiting for a peer that connects to '\(name)'", until: end)
        do { return try await arrival.value(until: end) } catch is TimeOut {
            throw HostError.environment(.timedOut(.incomingConnection))
        }
    }

    private func asInitiator(_ link: ClassicConnection) async throws -> PairEvent {
        guard link.bond?.linkKey != nil, !command.bonds.again else { return Self.paired(try await link.pair(settings)) }
        try await link.secure(to: .unauthenticated)
        return PairEvent("encrypted", link)
    }

    /// Follows what happens on a new link.
    private func watch(_ link: ClassicConnection) {
        let hadKey = link.bond?.linkKey != nil
        link.events.add { [self, unowned link] change in
            told(change)
            switch change {
            case .paired(let result): done.fulfil(Self.paired(result))
            case .pairingFailed(let error): done.fail(error)
            case .secured where hadKey && !command.bonds.again: done.fulfil(PairEvent("encrypted", link))
            case .disconnected(let reason): done.fail(HostError.peer(.disconnected(reason)))
            case .secured, .derived, .derivationFailed: break
            }
        }
    }

    /// Waits until the initiator pairs, or encrypts the link with the stored key.
    private func asAcceptor(_ link: ClassicConnection, until end: Microseconds) async throws -> PairEvent {
        do { return try await done.value(until: end) } catch is TimeOut {
            throw CommandFailure(.fail, "the peer did not pair within \(command.ends.seconds) s")
        }
    }

    /// Returns the event of a pairing; pairing with a PIN has no association model.
    private static func paired(_ result: PairingResult) -> PairEvent {
        var event = PairEvent(result)
        event.event = "paired"
        return event
    }

    private func told(_ change: ClassicConnectionEvent) {
        switch change {
        case .derived(let result): keys.fulfil(PairEvent(result))
        case .derivationFailed(let error): keys.fail(error)
        case .disconnected(let reason): keys.fail(HostError.peer(.disconnected(reason)))
        case .secured, .paired, .pairingFailed: break
        }
    }

    /// Ends the link after the LE keys have been derived, if they are.
    private func leave(_ link: ClassicConnection, after result: PairEvent) async throws {
        if result.event == "paired", result.secureConnections == true, result.bonded == true { await tellKeys() }
        guard link.isInitiator else {
            _ = try await link.ended(within: .seconds(2))
            return
        }
        try await link.drained()
        try await link.disconnect()
    }

    /// Reports derived keys; it is not an error if there are none.
    private func tellKeys() async {
        do {
            let derived = try await keys.value(until: host.loop.now + .seconds(5))
            var event = PairEvent("le_keys")
            (event.peer, event.level, event.keySize) = (derived.peer, derived.level, derived.keySize)
            user.tell(event, "keys for LE followed from the link key")
        } catch {}
    }
}

extension PairEvent {
    fileprivate init(_ name: String, _ link: ClassicConnection) {
        self.init(name)
        transport = TransportOption.bredr.rawValue
        peer = link.peer.address.argument
        guard link.encryptionKeySize > 0 else { return }
        level = link.linkSecurity.name
        keySize = link.encryptionKeySize
        secureConnections = link.usesSecureConnections
        bonded = true
    }
}
