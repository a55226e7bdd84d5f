import BBHost
import BBTiming

/// Advertising of an accessory: it goes on while the accessory can take another connection.
struct ConnectableAdvertising {
    let host: Host
    let settings: AdvertisingSettings
    /// The most connections at a time.
    let most: Int

    /// Advertises, and again after each connection, until the task is cancelled or the controller refuses.
    func run() async {
        while !Task.isCancelled {
            guard let set = try? await host.advertise(settings) else { return }
            guard let link = try? await set.connected(within: .seconds(86_400)) else { return }
            if set.isRunning, link.isConnected { try? await set.stop() }
            while links >= most, !Task.isCancelled { await oneEnds() }
        }
    }

    private var links: Int { host.connections.filter(\.isConnected).count }

    private func oneEnds() async {
        let ended = Promise<Void>(on: host.loop)
        let watched = host.connections.filter(\.isConnected).map { link in
            host.loop.start { [ended] in
                _ = try? await link.ended()
                ended.fulfil(())
            }
        }
        try? await ended.value()
        for each in watched { each.cancel() }
        for each in watched { await each.ended() }
    }
}
