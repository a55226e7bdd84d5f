import BBHCI
import BBHost
import BBPackets
import BBTiming

/// The operation of `bluebench pair`: finds the peer, pairs or encrypts, and reports the events.
final class PairSession {
    private let host: Host
    private let settings: PairingSettings
    private let command: PairCommand
    private let peer: DeviceAddress?
    private let user: PairUser
    private var wait: WaitLine { user.wait }
    /// The pairing or encryption by a central, or its failure.
    private let done: Promise<PairEvent>

    /// - Parameter peer: the peer to connect to; nil to advertise.
    init(_ host: Host, settings: PairingSettings, command: PairCommand, peer: DeviceAddress?, user: PairUser) {
        self.host = host
        self.settings = settings
        self.command = command
        self.peer = peer
        self.user = user
        done = Promise(on: host.loop)
    }

    /// Pairs, or encrypts with the key of a bond, and disconnects.
    func run() async throws -> PairEvent {
        let end = host.loop.now + .seconds(command.ends.seconds)
        let link = try await connection(until: end)
        defer { wait.end() }
        var connected = PairEvent("connected")
        connected.peer = link.peer.address.argument
        connected.role = link.isCentral ? "central" : "peripheral"
        user.tell(connected, "connected to \(link.peer)")
        wait.begin("waiting for \(link.peer) to pair", until: end)
        do {
            let result = try await link.isCentral ? asCentral(link) : asPeripheral(link, until: end)
            wait.end()
            try await leave(link)
            return result
        } catch {
            // The peer must receive the reason of the failure.
            await host.loop.cleanUp(within: .seconds(5)) { [self] in try await leave(link) }
            throw error
        }
    }

    // MARK: The link

    private func connection(until end: Microseconds) async throws -> Connection {
        if let peer {
            wait.begin("looking for \(peer)", until: end)
            var connect = ConnectSettings()
            connect.limit = end - host.loop.now
            return try await host.connectAnswered(to: peer, connect)
        }
        let name = command.ends.advertise ?? ""
        wait.begin("waiting for a peer that connects to '\(name)'", until: end)
        let data = AdvertisingData([.flags([.generalDiscoverable, .brEDRNotSupported]), .completeLocalName(name)])
        // A central may pair, or leave, in the turn in which it connects.
        let listener = host.newConnections.add { [self] in watch($0) }
        defer { host.newConnections.remove(listener) }
        let set = try await host.advertise(AdvertisingSettings(data: data))
        var advertising = PairEvent("advertising")
        let address = host.privateAddress ?? host.address
        advertising.peer = address.argument
        user.tell(advertising, "advertising as '\(name)', \(address)")
        let link = try await set.connected(within: end - host.loop.now)
        if set.isRunning { await host.loop.cleanUp(within: Host.commandTimeOut) { try await set.stop() } }
        return link
    }

    private func asCentral(_ link: Connection) async throws -> PairEvent {
        guard link.bond != nil, !command.bonds.again else { return PairEvent(try await link.pair(settings)) }
        try await link.encrypt()
        return encrypted(link)
    }

    /// Follows what a central does on a new link.
    private func watch(_ link: Connection) {
        let hadBond = link.bond != nil
        link.events.add { [self, unowned link] change in
            switch change {
            case .paired(let result): done.fulfil(PairEvent(result))
            case .pairingFailed(let error): done.fail(error)
            case .encryptionChanged(true) where hadBond && link.security > .none && !command.bonds.again: done.fulfil(encrypted(link))
            case .disconnected(let reason): done.fail(HostError.peer(.disconnected(reason)))
            default: break
            }
        }
    }

    /// Waits until the central pairs, or encrypts the link with the key of the bond.
    private func asPeripheral(_ link: Connection, until end: Microseconds) async throws -> PairEvent {
        if command.ends.request { return PairEvent(try await link.pair(settings)) }
        do { return try await done.value(until: end) } catch is TimeOut {
            throw CommandFailure(.fail, "the peer did not pair within \(command.ends.seconds) s; --request asks it to")
        }
    }

    /// Ends the link after the peer has received everything. A peripheral waits for the central, which may need the link longer.
    private func leave(_ link: Connection) async throws {
        try await link.drained()
        if !link.isCentral {
            do {
                _ = try await link.ended(within: .seconds(2))
                return
            } catch HostError.environment(.timedOut) {}
        }
        if link.isConnected { try await link.disconnect() }
    }

    // MARK: Output

    private func encrypted(_ link: Connection) -> PairEvent {
        var event = PairEvent("encrypted")
        event.peer = (link.bond?.identity ?? link.peer.address).argument
        event.level = link.security.name
        event.keySize = link.encryptionKeySize
        event.secureConnections = link.bond?.isSecureConnections
        event.bonded = true
        return event
    }
}
