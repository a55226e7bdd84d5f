import Packets
import Timing

/// How to scan. Core Vol 4, Part E, 7.8.10 and 7.8.64.
public struct ScanSettings: Sendable, Hashable {
    public var isActive = true
    /// N x 0.625 ms, 0x0004...0xFFFF (legacy commands: ...0x4000).
    public var interval: UInt16 = 0x0060
    /// N x 0.625 ms, at most the interval.
    public var window: UInt16 = 0x0060
    /// Primary PHYs: 1M, Coded or both.
    public var phys: PHYs = .le1M
    public var filtersDuplicates = false
    public var filterPolicy: ScanningFilterPolicy = .basicUnfiltered
    /// Nil: of the address that the host goes by.
    public var ownAddressType: OwnAddressType?
    /// N x 10 ms; 0: until stopped. Extended scanning only.
    public var duration: UInt16 = 0
    /// N x 1.28 s; 0: once.
    public var period: UInt16 = 0
    /// Whether to use the extended commands; nil: if the controller has them.
    public var usesExtendedCommands: Bool?
    /// Reports that may wait for a reader of `Scan.reports`.
    public var bufferLimit = 256

    public init() {}
}

/// A scan that is running or has ended.
public final class Scan {
    /// Reports in order; those that find the buffer full are dropped and counted.
    public let reports: AsyncThrowingStream<AdvertisingReport, any Error>
    /// Takes each report on the loop, from within the delivery of its event, instead of `reports`.
    public var onReport: ((AdvertisingReport) -> Void)?
    /// Reports so far, dropped ones included.
    public private(set) var count = 0
    public private(set) var dropped = 0
    public internal(set) var isRunning = true
    let isExtended: Bool
    let settings: ScanSettings
    private let continuation: AsyncThrowingStream<AdvertisingReport, any Error>.Continuation
    private unowned let host: Host

    init(host: Host, isExtended: Bool, settings: ScanSettings) {
        self.host = host
        self.settings = settings
        self.isExtended = isExtended
        (reports, continuation) = AsyncThrowingStream.makeStream(bufferingPolicy: .bufferingOldest(max(1, settings.bufferLimit)))
    }

    /// Ends scanning; `reports` ends after what is buffered.
    public func stop() async throws { try await host.stop(self) }

    func receive(_ report: AdvertisingReport) -> Bool {
        count += 1
        if let onReport {
            onReport(report)
            return true
        }
        if case .dropped = continuation.yield(report) {
            dropped += 1
            return false
        }
        return true
    }

    func finish(_ error: HostError?) {
        isRunning = false
        continuation.finish(throwing: error)
    }
}

extension Host {
    /// Starts scanning; a controller scans for one at a time.
    ///
    /// - Parameter onReport: takes the reports synchronously; otherwise they are read from `Scan.reports`.
    public func scan(_ settings: ScanSettings = ScanSettings(), onReport: ((AdvertisingReport) -> Void)? = nil) async throws
        -> Scan
    {
        guard isStarted else { throw failure ?? HostError.misuse(.notStarted) }
        guard scans.isEmpty else { throw HostError.misuse(.busy(.scanning)) }
        return try await withFamily(settings.usesExtendedCommands, needsExtended: settings.phys != .le1M) {
            try await startScan(settings, isExtended: $0, onReport)
        }
    }

    private func startScan(_ settings: ScanSettings, isExtended: Bool, _ onReport: ((AdvertisingReport) -> Void)?) async throws -> Scan {
        guard isExtended || settings.phys == .le1M else { throw HostError.misuse(.unsupported(.scanningOnOtherPHYs)) }
        guard scans.isEmpty else { throw HostError.misuse(.busy(.scanning)) }
        let scan = Scan(host: self, isExtended: isExtended, settings: settings)
        scan.onReport = onReport
        scans.append(scan)
        reportAssembler.reset()
        let ownAddressType = settings.ownAddressType ?? self.ownAddressType
        do {
            if isExtended { try await prepareExtended(settings, ownAddressType) } else { try await prepareLegacy(settings, ownAddressType) }
            try await enable(scan, true)
        } catch {
            scans.removeAll { $0 === scan }
            scan.finish(nil)
            throw error
        }
        return scan
    }

    private func prepareExtended(_ settings: ScanSettings, _ ownAddressType: OwnAddressType) async throws {
        let row = HCICommands.LESetExtendedScanParameters.PHYParameter(
            scanType: settings.isActive ? .active : .passive, scanInterval: settings.interval, scanWindow: settings.window)
        try await send(
            HCICommands.LESetExtendedScanParameters(
                ownAddressType: ownAddressType, scanningFilterPolicy: settings.filterPolicy, scanningPHYs: settings.phys,
                phyParameters: Array(repeating: row, count: settings.phys.rawValue.nonzeroBitCount)))
    }

    private func prepareLegacy(_ settings: ScanSettings, _ ownAddressType: OwnAddressType) async throws {
        try await send(
            HCICommands.LESetScanParameters(
                leScanType: settings.isActive ? .active : .passive, leScanInterval: settings.interval, leScanWindow: settings.window,
                ownAddressType: ownAddressType, scanningFilterPolicy: settings.filterPolicy))
    }

    /// Starts or stops the scan in the controller; it stays the host's scan.
    func enable(_ scan: Scan, _ isOn: Bool) async throws {
        let filters: UInt8 = isOn && scan.settings.filtersDuplicates ? 1 : 0
        if scan.isExtended {
            try await send(
                HCICommands.LESetExtendedScanEnable(
                    enable: isOn ? 1 : 0, filterDuplicates: filters, duration: isOn ? scan.settings.duration : 0,
                    period: isOn ? scan.settings.period : 0))
        } else {
            try await send(HCICommands.LESetScanEnable(leScanEnable: isOn ? 1 : 0, filterDuplicates: filters))
        }
    }

    func stop(_ scan: Scan) async throws {
        guard scan.isRunning else { return }
        scans.removeAll { $0 === scan }
        scan.finish(nil)
        try await enable(scan, false)
    }

    // MARK: Events

    func legacyReports(_ packet: HCIPacket) throws(PDUError) {
        for row in try packet.event(as: HCIEvents.LEAdvertisingReport.self).reports {
            if row.eventType.rawValue & ~AdvertisingReport.legacyTypes != 0 { context.counters.reservedBits += 1 }
            if let report = AdvertisingReport(row) { deliver(report) } else { context.counters.malformedEvents += 1 }
        }
    }

    func extendedReports(_ packet: HCIPacket) throws(PDUError) {
        for row in try packet.event(as: HCIEvents.LEExtendedAdvertisingReport.self).reports {
            guard let report = AdvertisingReport(row) else {
                context.counters.malformedEvents += 1
                continue
            }
            if AdvertisingReport.hasReservedBits(row) { context.counters.reservedBits += 1 }
            let status = ExtendedReportType(rawValue: row.eventType).dataStatus
            if let whole = reportAssembler.receive(report, status: status) { deliver(whole) }
        }
    }

    private func deliver(_ report: AdvertisingReport) {
        var report = report
        report.identity = identity(of: report)
        // What the controller has resolved came under a private address.
        guard report.identity?.isResolved == true || isKnown(report.identity, by: report.address) else { return }
        for scan in scans where !scan.receive(report) { context.counters.droppedReports += 1 }
    }

    func scanTimedOut() {
        let ended = scans
        scans.removeAll()
        for scan in ended { scan.finish(nil) }
    }
}
