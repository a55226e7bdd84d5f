import BBHost
import BBTiming

/// Advertising of an accessory: it goes on while the accessory can take another connection.
struct ConnectableAdvertising {
    let host: Host
    let settings: AdvertisingSettings
    /// The most connections at a time.
    let most: Int

    /// Advertises, and again after each connection, until the task is cancelled or the controller refuses.
    func run() async throws {
        while true {
            let set = try await host.advertise(settings)
            let link = try await set.connected(within: .seconds(86_400))
            if set.isRunning, link.isConnected { try await set.stop() }
            while links.count >= most { try await oneEnds() }
        }
    }

    private var links: [Connection] { host.connections.filter(\.isConnected) }

    private func oneEnds() async throws {
        let ended = Promise<Void>(on: host.loop)
        let listeners = links.map { link in
            (link, link.events.add { if case .disconnected = $0 { ended.fulfil(()) } })
        }
        defer { for (link, listener) in listeners { link.events.remove(listener) } }
        try await ended.value()
    }
}
