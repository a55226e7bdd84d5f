import BBHCI
import BBHost
import BBPackets
import BBTiming

/// A session that finds a peer or waits for one, pairs or encrypts with the key of the bond, and disconnects. It reports the events.
package final class PairSession {
    package let host: Host
    package let settings: PairingSettings
    package let plan: PairPlan
    package let user: PairUser
    package let peer: DeviceAddress?
    /// The pairing or encryption by the peer, and the LE keys derived from the key of BR/EDR, or their failures.
    package let (done, keys): (Promise<PairEvent>, Promise<PairEvent>)

    /// - Parameter peer: the peer to connect to; nil to wait for one.
    package init(_ host: Host, settings: PairingSettings, plan: PairPlan, peer: DeviceAddress?, user: PairUser) {
        (self.host, self.settings, self.plan, self.peer, self.user) = (host, settings, plan, peer, user)
        (done, keys) = (Promise(on: host.loop), Promise(on: host.loop))
    }

    package func run() async throws -> PairEvent {
        let end = host.loop.now + .seconds(plan.seconds)
        // The peer may pair, or leave, in the turn in which it connects.
        let listeners = (
            host.newConnections.add { [self] in watch($0) }, host.newClassicConnections.add { [self] in watch($0) }
        )
        defer {
            host.newConnections.remove(listeners.0)
            host.newClassicConnections.remove(listeners.1)
        }
        let link = try await connection(until: end)
        defer { user.endWait() }
        user.tell(PairEvent(connected: link), "connected to \(link.peer)" + (plan.transport == .le ? "" : " over BR/EDR"))
        user.wait(for: "waiting for \(link.peer) to pair", until: end)
        do {
            var result = try await outcome(on: link, until: end)
            if case .classic(let link) = link { result.setEncryption(of: link) }
            user.endWait()
            try await leave(link, after: result)
            return result
        } catch {
            // The peer must receive the reason of the failure.
            if case .le(let link) = link { await host.loop.cleanUp(within: .seconds(5)) { [self] in try await leave(link) } }
            throw error
        }
    }

    private func connection(until end: Microseconds) async throws -> PeerLink {
        switch plan.transport {
        case .le: .le(try await connectionLE(until: end))
        case .bredr: .classic(try await connectionClassic(until: end))
        }
    }

    /// Pairs or encrypts as the initiator, or waits until the peer does.
    private func outcome(on link: PeerLink, until end: Microseconds) async throws -> PairEvent {
        switch link {
        case .le(let link) where link.isCentral || plan.requests: return try await initiate(link)
        case .classic(let link) where link.isInitiator: return try await initiate(link)
        case .le, .classic: break
        }
        do { return try await done.value(until: end) } catch is TimeOut {
            let advice = plan.transport == .le ? "; --request asks it to" : ""
            throw CommandFailure(.fail, "the peer did not pair within \(plan.seconds) s\(advice)")
        }
    }

    private func leave(_ link: PeerLink, after result: PairEvent) async throws {
        switch link {
        case .le(let link): try await leave(link)
        case .classic(let link): await host.loop.cleanUp(within: .seconds(15)) { [self] in try await leave(link, after: result) }
        }
    }
}
