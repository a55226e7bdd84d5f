import Packets
import Timing

/// Scan parameters. Core Vol 4, Part E, 7.8.10 and 7.8.64.
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
    /// Nil for the type of the host's address.
    public var ownAddressType: OwnAddressType?
    /// N x 10 ms; 0: until stopped. Extended scanning only.
    public var duration: UInt16 = 0
    /// N x 1.28 s; 0: once.
    public var period: UInt16 = 0
    /// Use of the extended commands; nil to use them if the controller supports them.
    public var usesExtendedCommands: Bool?
    /// Maximum number of buffered reports in `Scan.reports`.
    public var bufferLimit = 256

    public init() {}
}

/// A running scan, or one that has ended.
public final class Scan {
    /// Reports in order. Reports that find the buffer full are dropped and counted.
    public let reports: AsyncThrowingStream<AdvertisingReport, any Error>
    /// Called with each report on the loop, from within the delivery of its event, instead of `reports`.
    public var onReport: ((AdvertisingReport) -> Void)?
    /// Number of reports so far, including dropped ones.
    public private(set) var count = 0
    public private(set) var dropped = 0
    public internal(set) var isRunning = true
    /// Paused in the controller.
    var isResting = false
    /// Filters duplicates instead of the controller.
    var duplicates: DuplicateFilter?
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

    /// Stops scanning; `reports` ends after the buffered reports.
    public func stop() async throws { try await host.stop(self) }

    private func filters(_ isOn: Bool) -> UInt8 { isOn && settings.filtersDuplicates && duplicates == nil ? 1 : 0 }

    func extendedEnable(_ isOn: Bool) -> HCICommands.LESetExtendedScanEnable {
        HCICommands.LESetExtendedScanEnable(
            enable: isOn ? 1 : 0, filterDuplicates: filters(isOn), duration: isOn ? settings.duration : 0,
            period: isOn ? settings.period : 0)
    }

    func legacyEnable(_ isOn: Bool) -> HCICommands.LESetScanEnable {
        HCICommands.LESetScanEnable(leScanEnable: isOn ? 1 : 0, filterDuplicates: filters(isOn))
    }

    func receive(_ report: AdvertisingReport) -> Bool {
        guard duplicates?.isNew(report) != false else { return true }
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
    /// Starts a scan; a controller runs one at a time.
    ///
    /// - Parameter onReport: called synchronously with each report. Without it, reports are read from `Scan.reports`.
    public func scan(_ settings: ScanSettings = ScanSettings(), onReport: ((AdvertisingReport) -> Void)? = nil) async throws
        -> Scan
    {
        guard isStarted else { throw failure ?? HostError.misuse(.notStarted) }
        guard scans.isEmpty else { throw HostError.misuse(.busy(.scanning)) }
        guard inquiry == nil || !workarounds.avoidsInquiryWhileScanning else { throw HostError.misuse(.busy(.inquiry)) }
        var settings = settings
        settings.phys = trusted(settings.phys)
        return try await withFamily(settings.usesExtendedCommands, needsExtended: settings.phys != .le1M) { [settings] in
            try await startScan(settings, isExtended: $0, onReport)
        }
    }

    /// The PHYs without LE Coded, if it is known to stop reception on the others; LE Coded alone is not removed.
    func trusted(_ phys: PHYs) -> PHYs {
        guard workarounds.avoidsCodedPHY, phys.contains(.leCoded), phys != .leCoded else { return phys }
        context.learned.note(.codedPHYLeftOut, "LE Coded makes it deaf to the other PHYs: left out")
        return phys.subtracting(.leCoded)
    }

    private func startScan(_ settings: ScanSettings, isExtended: Bool, _ onReport: ((AdvertisingReport) -> Void)?) async throws -> Scan {
        guard isExtended || settings.phys == .le1M else { throw HostError.misuse(.unsupported(.scanningOnOtherPHYs)) }
        guard scans.isEmpty else { throw HostError.misuse(.busy(.scanning)) }
        let scan = Scan(host: self, isExtended: isExtended, settings: settings)
        scan.onReport = onReport
        if settings.filtersDuplicates, workarounds.filtersDuplicatesByAddress { scan.duplicates = DuplicateFilter() }
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

    /// Enables or disables the scan in the controller; it remains the host's scan.
    func enable(_ scan: Scan, _ isOn: Bool) async throws {
        if scan.isExtended { try await send(scan.extendedEnable(isOn)) } else { try await send(scan.legacyEnable(isOn)) }
    }

    /// Pauses scanning during an inquiry, if the controller cannot do both.
    func restScans() async throws {
        guard workarounds.avoidsInquiryWhileScanning, let scan = scans.first, !scan.isResting else { return }
        context.learned.note(.scanRested, "scanning rests while it inquires")
        try await enable(scan, false)
        scan.isResting = true
    }

    func wakeScans() {
        guard let scan = scans.first, scan.isResting else { return }
        scan.isResting = false
        if scan.isExtended { post(scan.extendedEnable(true)) } else { post(scan.legacyEnable(true)) }
    }

    func stop(_ scan: Scan) async throws {
        guard scan.isRunning else { return }
        scans.removeAll { $0 === scan }
        scan.finish(nil)
        if !scan.isResting { try await enable(scan, false) }
    }

    // MARK: Events

    func legacyReports(_ packet: HCIPacket) throws(PDUError) {
        for row in try packet.event(as: HCIEvents.LEAdvertisingReport.self).reports {
            let clean = row.withoutReservedBits
            if clean != row { context.counters.reservedBits += 1 }
            if let report = AdvertisingReport(clean) { deliver(report) } else { context.counters.malformedEvents += 1 }
        }
    }

    func extendedReports(_ packet: HCIPacket) throws(PDUError) {
        for row in try packet.event(as: HCIEvents.LEExtendedAdvertisingReport.self).reports {
            let clean = row.withoutReservedBits
            guard let report = AdvertisingReport(clean) else {
                context.counters.malformedEvents += 1
                continue
            }
            if clean != row { context.counters.reservedBits += 1 }
            let status = ExtendedReportType(rawValue: clean.eventType).dataStatus
            if let whole = reportAssembler.receive(report, status: status) { deliver(whole) }
        }
    }

    private func deliver(_ report: AdvertisingReport) {
        var report = report
        report.identity = identity(of: report)
        // An address resolved by the controller was a private one.
        guard report.identity?.isResolved == true || isKnown(report.identity, by: report.address) else { return }
        for scan in scans where !scan.receive(report) { context.counters.droppedReports += 1 }
    }

    func scanTimedOut() {
        let ended = scans
        scans.removeAll()
        for scan in ended { scan.finish(nil) }
    }
}
