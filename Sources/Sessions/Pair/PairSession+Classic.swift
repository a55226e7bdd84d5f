import BBHost
import BBPackets
import BBTiming

/// The part of a pairing session that is different on BR/EDR.
extension PairSession {
    func connectionClassic(until end: Microseconds) async throws -> ClassicConnection {
        if let peer {
            user.wait(for: "paging \(peer.argument)", until: end)
            return try await host.connectClassic(to: peer.bdADDR)
        }
        let name = plan.advertised ?? ""
        let arrival = Promise<ClassicConnection>(on: host.loop)
        let token = host.newClassicConnections.add { arrival.fulfil($0) }
        defer { host.newClassicConnections.remove(token) }
        try await host.describeClassic(ClassicDescription(name: name))
        try await host.setScan(isDiscoverable: true, isConnectable: true)
        var found = PairEvent("discoverable")
        found.peer = host.controller.address.argument
        user.tell(found, "can be found as '\(name)', \(host.controller.address)")
        user.wait(for: "waiting for a peer that connects to '\(name)'", until: end)
        do { return try await arrival.value(until: end) } catch is TimeOut {
            throw HostError.environment(.timedOut(.incomingConnection))
        }
    }

    func initiate(_ link: ClassicConnection) async throws -> PairEvent {
        guard link.bond?.linkKey != nil, !plan.pairsAgain else { return PairEvent(pairedClassic: try await link.pair(settings)) }
        try await link.secure(to: .unauthenticated)
        return PairEvent("encrypted", link)
    }

    /// Follows what happens on a new link.
    func watch(_ link: ClassicConnection) {
        let hadKey = link.bond?.linkKey != nil
        link.events.add { [self, unowned link] change in
            switch change {
            case .paired(let result): done.fulfil(PairEvent(pairedClassic: result))
            case .pairingFailed(let error): done.fail(error)
            case .secured where hadKey && !plan.pairsAgain: done.fulfil(PairEvent("encrypted", link))
            case .secured: break
            case .derived(let result): keys.fulfil(PairEvent(result))
            case .derivationFailed(let error): keys.fail(error)
            case .disconnected(let reason):
                done.fail(HostError.peer(.disconnected(reason)))
                keys.fail(HostError.peer(.disconnected(reason)))
            }
        }
    }

    /// Ends the link after the LE keys have been derived, if they are.
    func leave(_ link: ClassicConnection, after result: PairEvent) async throws {
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
