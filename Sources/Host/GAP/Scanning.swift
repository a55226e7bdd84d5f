import BBPackets
import BBTiming

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
    /// Own_Address_Type; nil for the type of the host's address.
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
    public private(set) var isRunning = true
    /// Paused in the controller.
    fileprivate(set) var isResting = false
    /// The controller has accepted it; until then, LE_Scan_Timeout is about an earlier scan.
    fileprivate(set) var isAccepted = false
    /// Filters duplicates instead of the controller.
    fileprivate var duplicates: DuplicateFilter?
    fileprivate let isExtended: Bool
    fileprivate let settings: ScanSettings
    private let continuation: AsyncThrowingStream<AdvertisingReport, any Error>.Continuation
    private unowned let owner: Scanning

    fileprivate init(_ owner: Scanning, isExtended: Bool, settings: ScanSettings) {
        self.owner = owner
        self.settings = settings
        self.isExtended = isExtended
        (reports, continuation) = AsyncThrowingStream.makeStream(bufferingPolicy: .bufferingOldest(max(1, settings.bufferLimit)))
    }

    /// Stops scanning; `reports` ends after the buffered reports.
    public func stop() async throws { try await owner.stop(self) }

    private func filters(_ isOn: Bool) -> UInt8 { isOn && settings.filtersDuplicates && duplicates == nil ? 1 : 0 }

    fileprivate func extendedEnable(_ isOn: Bool) -> HCICommands.LESetExtendedScanEnable {
        HCICommands.LESetExtendedScanEnable(
            enable: isOn ? 1 : 0, filterDuplicates: filters(isOn), duration: isOn ? settings.duration : 0,
            period: isOn ? settings.period : 0)
    }

    fileprivate func legacyEnable(_ isOn: Bool) -> HCICommands.LESetScanEnable {
        HCICommands.LESetScanEnable(leScanEnable: isOn ? 1 : 0, filterDuplicates: filters(isOn))
    }

    fileprivate func receive(_ report: AdvertisingReport) -> Bool {
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

    fileprivate func finish(_ error: HostError?) {
        isRunning = false
        continuation.finish(throwing: error)
    }
}

/// The scan of a host; a controller runs one at a time. Core Vol 3, Part C, 9.2.
final class Scanning {
    private var scan: Scan?
    private var assembler = ReportAssembler()
    private unowned let host: Host

    init(_ host: Host) { self.host = host }

    var isIdle: Bool { scan == nil }

    func start(_ settings: ScanSettings, _ onReport: ((AdvertisingReport) -> Void)?) async throws -> Scan {
        try host.setup.check()
        guard scan == nil else { throw HostError.misuse(.busy(.scanning)) }
        guard host.inquiring.isIdle || !host.workarounds.avoidsInquiryWhileScanning else { throw HostError.misuse(.busy(.inquiry)) }
        var settings = settings
        settings.phys = host.context.trusted(settings.phys)
        return try await host.family.choose(settings.usesExtendedCommands, needsExtended: settings.phys != .le1M) { [settings] in
            try await start(settings, isExtended: $0, onReport)
        }
    }

    private func start(_ settings: ScanSettings, isExtended: Bool, _ onReport: ((AdvertisingReport) -> Void)?) async throws -> Scan {
        guard isExtended || settings.phys == .le1M else { throw HostError.misuse(.unsupported(.scanningOnOtherPHYs)) }
        guard self.scan == nil else { throw HostError.misuse(.busy(.scanning)) }
        let scan = Scan(self, isExtended: isExtended, settings: settings)
        scan.onReport = onReport
        if settings.filtersDuplicates, host.workarounds.filtersDuplicatesByAddress { scan.duplicates = DuplicateFilter() }
        self.scan = scan
        assembler.reset()
        let ownAddressType = settings.ownAddressType ?? host.addresses.type
        do {
            if isExtended { try await prepareExtended(settings, ownAddressType) } else { try await prepareLegacy(settings, ownAddressType) }
            try await enable(scan, true)
        } catch {
            forget(scan)
            throw error
        }
        return scan
    }

    private func prepareExtended(_ settings: ScanSettings, _ ownAddressType: OwnAddressType) async throws {
        let row = HCICommands.LESetExtendedScanParameters.PHYParameter(
            scanType: settings.isActive ? .active : .passive, scanInterval: settings.interval, scanWindow: settings.window)
        try await host.send(
            HCICommands.LESetExtendedScanParameters(
                ownAddressType: ownAddressType, scanningFilterPolicy: settings.filterPolicy, scanningPHYs: settings.phys,
                phyParameters: Array(repeating: row, count: settings.phys.rawValue.nonzeroBitCount)))
    }

    private func prepareLegacy(_ settings: ScanSettings, _ ownAddressType: OwnAddressType) async throws {
        try await host.send(
            HCICommands.LESetScanParameters(
                leScanType: settings.isActive ? .active : .passive, leScanInterval: settings.interval, leScanWindow: settings.window,
                ownAddressType: ownAddressType, scanningFilterPolicy: settings.filterPolicy))
    }

    /// Enables or disables the scan in the controller; it remains the host's scan.
    private func enable(_ scan: Scan, _ isOn: Bool) async throws {
        let accepted = { if isOn { scan.isAccepted = true } }
        if scan.isExtended {
            try await host.send(scan.extendedEnable(isOn)) { _ in accepted() }
        } else {
            try await host.send(scan.legacyEnable(isOn)) { _ in accepted() }
        }
    }

    /// Pauses scanning during an inquiry, if the controller cannot do both.
    func rest() async throws {
        guard host.workarounds.avoidsInquiryWhileScanning, let scan, !scan.isResting else { return }
        host.context.learned.note(.scanRested, "scanning rests while it inquires")
        scan.isResting = true
        do { try await enable(scan, false) } catch {
            scan.isResting = false
            throw error
        }
    }

    func wake() {
        guard let scan, scan.isResting else { return }
        scan.isResting = false
        if scan.isExtended { host.commands.post(scan.extendedEnable(true)) } else { host.commands.post(scan.legacyEnable(true)) }
    }

    fileprivate func stop(_ scan: Scan) async throws {
        guard scan.isRunning else { return }
        forget(scan)
        if !scan.isResting { try await enable(scan, false) }
    }

    // MARK: Events

    func legacyReports(_ packet: HCIPacket) throws(PDUError) {
        for row in try packet.event(as: HCIEvents.LEAdvertisingReport.self).reports {
            let clean = row.withoutReservedBits
            if clean != row { host.context.counters.reservedBits += 1 }
            if let report = AdvertisingReport(clean) { deliver(report) } else { host.context.counters.malformedEvents += 1 }
        }
    }

    func extendedReports(_ packet: HCIPacket) throws(PDUError) {
        for row in try packet.event(as: HCIEvents.LEExtendedAdvertisingReport.self).reports {
            let clean = row.withoutReservedBits
            guard let report = AdvertisingReport(clean) else {
                host.context.counters.malformedEvents += 1
                continue
            }
            if clean != row { host.context.counters.reservedBits += 1 }
            let status = ExtendedReportType(rawValue: clean.eventType).dataStatus
            if let whole = assembler.receive(report, status: status) { deliver(whole) }
        }
    }

    private func deliver(_ report: AdvertisingReport) {
        guard let scan else { return }
        var report = report
        report.identity = host.peers.identity(of: report)
        // An address resolved by the controller was a private one.
        guard report.identity?.isResolved == true || host.privacy.admits(report.identity, by: report.address) else { return }
        report.decrypted = host.advertisingEncryption.decrypted(report)
        if !scan.receive(report) { host.context.counters.droppedReports += 1 }
    }

    func timedOut() { if scan?.isAccepted == true { ended(nil) } }

    /// The controller was reset, or the pipe has ended.
    func ended(_ error: HostError?) {
        let ended = scan
        scan = nil
        ended?.finish(error)
    }

    private func forget(_ scan: Scan) {
        if self.scan === scan { self.scan = nil }
        scan.finish(nil)
    }

    // MARK: Private addresses

    /// Pauses the scan in the controller; it remains the host's scan.
    func pause() async throws -> Scan? {
        guard let scan, scan.isRunning else { return nil }
        try await enable(scan, false)
        return scan
    }

    func resume(_ scan: Scan) async throws { if scan.isRunning { try await enable(scan, true) } }
}

extension HostContext {
    /// The PHYs without Coded if the controller then receives nothing on the others. A request for only Coded is unchanged.
    func trusted(_ phys: PHYs) -> PHYs {
        guard workarounds.avoidsCodedPHY, phys.contains(.leCoded), phys != .leCoded else { return phys }
        learned.note(.codedPHYLeftOut, "LE Coded makes it deaf to the other PHYs: left out")
        return phys.subtracting(.leCoded)
    }
}

extension Host {
    /// Starts a scan; a controller runs one at a time.
    ///
    /// - Parameter onReport: called synchronously with each report. Without it, reports are read from `Scan.reports`.
    public func scan(_ settings: ScanSettings = ScanSettings(), onReport: ((AdvertisingReport) -> Void)? = nil) async throws -> Scan {
        try await scanning.start(settings, onReport)
    }
}
