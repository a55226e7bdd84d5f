import BBPackets
import BBTiming

/// The data of one event of a periodic advertising train. Core Vol 4, Part E, 7.7.65.15.
public struct PeriodicReport: Sendable, Hashable {
    public var octets: [UInt8]
    /// In dBm; nil if it is not available.
    public var txPower: Int8?
    /// In dBm; nil if it is not available.
    public var rssi: Int8?
    /// The rest of the data was not received.
    public var isTruncated = false

    public var data: AdvertisingData { AdvertisingData(octets: octets) }
}

/// Which train to synchronise with. Core Vol 4, Part E, 7.8.67.
public struct SyncSettings: Sendable, Hashable {
    public var advertiser: DeviceAddress
    /// Advertising SID of the train's set, 0...15.
    public var sid: UInt8
    /// Events that the controller may skip after each one received, 0...499.
    public var skip: UInt16 = 0
    /// N x 10 ms without an event after which the sync is lost, 0x000A...0x4000.
    public var timeout: UInt16 = 0x03E8
    /// Maximum number of buffered reports in `PeriodicSync.reports`.
    public var bufferLimit = 256

    public init(advertiser: DeviceAddress, sid: UInt8) { (self.advertiser, self.sid) = (advertiser, sid) }
}

/// A sync with a periodic advertising train. Core Vol 6, Part B, 4.4.3.4.
public final class PeriodicSync {
    /// Sync_Handle.
    public let handle: UInt16
    /// The advertiser, by its identity if the controller has resolved its address.
    public let advertiser: DeviceAddress
    public let sid: UInt8
    public let phy: PHY
    public let interval: Microseconds
    public private(set) var isRunning = true
    /// The data of each event, in order; ends when the sync is lost or ended. Reports that find the buffer full are dropped and counted.
    public let reports: AsyncThrowingStream<PeriodicReport, any Error>
    /// Called with each report on the loop, from within the delivery of its event, instead of `reports`.
    public var onReport: ((PeriodicReport) -> Void)?
    public private(set) var dropped = 0
    private let continuation: AsyncThrowingStream<PeriodicReport, any Error>.Continuation
    /// Data of an event so far, and the first power and strength that its reports tell.
    private var pending: [UInt8] = []
    private var txPower: Int8?
    private var rssi: Int8?
    private unowned let owner: PeriodicSyncs

    /// The longest data of an event. Core Vol 6, Part B, 4.4.2.12.
    private static let longestData = 1_650

    fileprivate init?(_ event: HCIEvents.LEPeriodicAdvertisingSyncEstablished, bufferLimit: Int, owner: PeriodicSyncs) {
        guard let phy = PHY(rawValue: event.advertiserPHY) else { return nil }
        handle = event.syncHandle
        advertiser = DeviceAddress(event.advertiserAddress, kind: event.advertiserAddressType.rawValue & 1 == 0 ? .public : .random)
        sid = event.advertisingSID
        self.phy = phy
        interval = event.periodicAdvertisingIntervalMicroseconds
        self.owner = owner
        (reports, continuation) = AsyncThrowingStream.makeStream(bufferingPolicy: .bufferingOldest(max(1, bufferLimit)))
    }

    /// Ends the sync; `reports` ends after the buffered reports.
    public func end() async throws { try await owner.end(self) }

    fileprivate func receive(_ event: HCIEvents.LEPeriodicAdvertisingReport) {
        if pending.count <= Self.longestData { pending += event.data }
        txPower = txPower ?? (event.txPower == 127 ? nil : event.txPower)
        rssi = rssi ?? (event.rssi == 127 ? nil : event.rssi)
        guard event.dataStatus != 1 else { return }
        let report = PeriodicReport(
            octets: pending, txPower: txPower, rssi: rssi, isTruncated: event.dataStatus != 0 || pending.count > Self.longestData)
        (pending, txPower, rssi) = ([], nil, nil)
        if let onReport { return onReport(report) }
        if case .dropped = continuation.yield(report) { dropped += 1 }
    }

    fileprivate func finish(_ error: HostError?) {
        isRunning = false
        continuation.finish(throwing: error)
    }
}

/// The syncs of a host, and the search for one; a controller seeks one train at a time.
final class PeriodicSyncs {
    private var syncs: [UInt16: PeriodicSync] = [:]
    private var search: (promise: Promise<PeriodicSync>, bufferLimit: Int)?
    /// Nobody waits for the search now, and the controller was told to end it.
    private var isAbandoned = false
    private unowned let host: Host

    init(_ host: Host) { self.host = host }

    func synchronise(_ settings: SyncSettings, within limit: Microseconds) async throws -> PeriodicSync {
        try host.setup.check()
        guard host.controller.leFeatures.contains(.lePeriodicAdvertising) else {
            throw HostError.misuse(.unsupported(.periodicAdvertising))
        }
        guard search == nil else { throw HostError.misuse(.busy(.synchronising)) }
        let promise = Promise<PeriodicSync>(on: host.loop)
        search = (promise, settings.bufferLimit)
        do {
            try await host.send(
                HCICommands.LEPeriodicAdvertisingCreateSync(
                    advertisingSID: settings.sid, advertiserAddressType: AddressType(rawValue: settings.advertiser.kind.rawValue),
                    advertiserAddress: BDADDR(settings.advertiser), skip: settings.skip, syncTimeout: settings.timeout))
        } catch {
            if search?.promise === promise { search = nil }
            throw error
        }
        do {
            return try await promise.value(until: host.loop.now + limit)
        } catch is TimeOut {
            cancel(promise)
            throw HostError.peer(.timedOut(.periodicSync))
        } catch is CancellationError {
            cancel(promise)
            throw CancellationError()
        }
    }

    /// Ends a search that nobody waits for, or the sync that it has brought.
    private func cancel(_ promise: Promise<PeriodicSync>) {
        if search?.promise === promise {
            isAbandoned = true
            return host.commands.post(HCICommands.LEPeriodicAdvertisingCreateSyncCancel())
        }
        guard case .success(let sync)? = promise.result, sync.isRunning else { return }
        forget(sync, nil)
        host.commands.post(HCICommands.LEPeriodicAdvertisingTerminateSync(syncHandle: sync.handle))
    }

    fileprivate func end(_ sync: PeriodicSync) async throws {
        guard sync.isRunning else { return }
        forget(sync, nil)
        try await host.send(HCICommands.LEPeriodicAdvertisingTerminateSync(syncHandle: sync.handle))
    }

    private func forget(_ sync: PeriodicSync, _ error: HostError?) {
        if syncs[sync.handle] === sync { syncs[sync.handle] = nil }
        sync.finish(error)
    }

    // MARK: Events

    func established(_ event: HCIEvents.LEPeriodicAdvertisingSyncEstablished) {
        guard let search else { return }
        self.search = nil
        defer { isAbandoned = false }
        // The sync came before the end of the search.
        if isAbandoned, event.status == .success {
            host.commands.post(HCICommands.LEPeriodicAdvertisingTerminateSync(syncHandle: event.syncHandle))
            return
        }
        guard event.status == .success, let sync = PeriodicSync(event, bufferLimit: search.bufferLimit, owner: self) else {
            return search.promise.fail(HostError.peer(.rejected(HCICommands.LEPeriodicAdvertisingCreateSync.name, event.status)))
        }
        syncs[sync.handle]?.finish(.peer(.timedOut(.periodicSync)))
        syncs[sync.handle] = sync
        search.promise.fulfil(sync)
    }

    func received(_ event: HCIEvents.LEPeriodicAdvertisingReport) { syncs[event.syncHandle]?.receive(event) }

    func lost(_ event: HCIEvents.LEPeriodicAdvertisingSyncLost) {
        if let sync = syncs[event.syncHandle] { forget(sync, .peer(.timedOut(.periodicSync))) }
    }

    /// The controller was reset, or the pipe has ended.
    func ended(_ error: HostError) {
        search?.promise.fail(error)
        (search, isAbandoned) = (nil, false)
        for (_, sync) in syncs.sorted(by: { $0.key < $1.key }) { sync.finish(error) }
        syncs.removeAll()
    }
}

extension Host {
    /// Synchronises with a periodic advertising train. The host must scan meanwhile, with the extended commands; it need not afterwards.
    ///
    /// - Throws: `HostError.peer(.timedOut)` after the limit, once the search is cancelled; `.peer(.rejected)` with the controller's
    ///   reason; `.misuse(.busy)`, since a controller seeks one train at a time; `.misuse(.unsupported)`.
    public func synchronise(_ settings: SyncSettings, within limit: Microseconds = .seconds(30)) async throws -> PeriodicSync {
        try await periodicSyncs.synchronise(settings, within: limit)
    }
}
