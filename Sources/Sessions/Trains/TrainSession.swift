import BBHost
import BBPackets
import BBTiming

/// Synchronises with the periodic advertising trains that a scan hears of, one after the other.
package final class TrainSession {
    private struct Train: Hashable {
        var advertiser: DeviceAddress
        var sid: UInt8
    }

    private let host: Host
    private let heard: (PeriodicSync, PeriodicReport) -> Void
    private let failed: (String) -> Void
    private var known: Set<Train> = []
    private var waiting: [(train: Train, interval: Microseconds)] = []
    private var syncs: [PeriodicSync] = []
    private var search: Activity<Void>?

    /// Trains beyond these are not sought: a controller has room for a few syncs.
    private static let mostTrains = 64

    /// - Parameters:
    ///   - heard: gets the data of each event.
    ///   - failed: gets a sentence about a train that could not be synchronised with.
    package init(_ host: Host, heard: @escaping (PeriodicSync, PeriodicReport) -> Void, failed: @escaping (String) -> Void) {
        (self.host, self.heard, self.failed) = (host, heard, failed)
    }

    /// Seeks the train of a report, if it names one that is new.
    package func consider(_ report: AdvertisingReport) {
        guard report.periodicInterval > 0, report.sid <= 15, let address = report.address, known.count < Self.mostTrains,
            known.insert(Train(advertiser: report.identity?.address ?? address, sid: report.sid)).inserted
        else { return }
        waiting.append((Train(advertiser: report.identity?.address ?? address, sid: report.sid), report.periodicInterval))
        seekNext()
    }

    private func seekNext() {
        guard search == nil, !waiting.isEmpty else { return }
        let (train, interval) = waiting.removeFirst()
        var settings = SyncSettings(advertiser: train.advertiser, sid: train.sid)
        // Six events at least.
        settings.timeout = max(settings.timeout, UInt16(clamping: min(0x4000, interval * 6 / 10_000)))
        search = host.loop.start { [self] in
            defer {
                search = nil
                if !Task.isCancelled { seekNext() }
            }
            do {
                let sync = try await host.synchronise(settings, within: interval * 2 + .seconds(30))
                sync.onReport = { [unowned self, unowned sync] in heard(sync, $0) }
                syncs.append(sync)
            } catch is CancellationError {
                return
            } catch {
                known.remove(train)
                failed("no sync with the train of \(train.advertiser.argument), SID \(train.sid): \(error)")
            }
        }
    }

    /// Ends the search and all syncs.
    package func end() async {
        waiting.removeAll()
        search?.cancel()
        await search?.ended()
        await host.loop.cleanUp(within: .seconds(2)) { [self] in
            for sync in syncs { try await sync.end() }
        }
    }
}
