import BBHost
import BBPackets
import BBTiming

/// The part of a pairing session that is different on LE.
extension PairSession {
    func connectionLE(until end: Microseconds) async throws -> Connection {
        if let peer {
            user.wait(for: "looking for \(peer)", until: end)
            var connect = ConnectSettings()
            connect.limit = end - host.loop.now
            return try await host.connectAnswered(to: peer, connect)
        }
        let name = plan.advertised ?? ""
        user.wait(for: "waiting for a peer that connects to '\(name)'", until: end)
        let data = AdvertisingData([.flags([.generalDiscoverable, .brEDRNotSupported]), .completeLocalName(name)])
        let set = try await host.advertise(AdvertisingSettings(data: data))
        var advertising = PairEvent("advertising")
        let address = host.privateAddress ?? host.address
        advertising.peer = address.argument
        user.tell(advertising, "advertising as '\(name)', \(address)")
        let link = try await set.connected(within: end - host.loop.now)
        if set.isRunning { await host.loop.cleanUp(within: Host.commandTimeOut) { try await set.stop() } }
        return link
    }

    func initiate(_ link: Connection) async throws -> PairEvent {
        guard link.isCentral, link.bond != nil, !plan.pairsAgain else { return PairEvent(try await link.pair(settings)) }
        try await link.encrypt()
        return PairEvent(encrypted: link)
    }

    /// Follows what a central does on a new link.
    func watch(_ link: Connection) {
        let hadBond = link.bond != nil
        link.events.add { [self, unowned link] change in
            switch change {
            case .paired(let result): done.fulfil(PairEvent(result))
            case .pairingFailed(let error): done.fail(error)
            case .encryptionChanged(true) where hadBond && link.security > .none && !plan.pairsAgain:
                done.fulfil(PairEvent(encrypted: link))
            case .disconnected(let reason): done.fail(HostError.peer(.disconnected(reason)))
            default: break
            }
        }
    }

    /// Ends the link after the peer has received everything. A peripheral waits for the central, which may need the link longer.
    func leave(_ link: Connection) async throws {
        try await link.drained()
        if !link.isCentral {
            do {
                _ = try await link.ended(within: .seconds(2))
                return
            } catch HostError.environment(.timedOut) {}
        }
        if link.isConnected { try await link.disconnect() }
    }
}
