import BBPackets
import BBTiming

/// Scan settings. Core Vol 4, Part E, 7.8.10, 7.8.64 and 7.8.65.
struct ScannerSettings {
    enum Duplicates: Equatable {
        case all
        case filtered
        case filteredPerPeriod
    }

    var windows: [ScanWindows]
    /// PHYs with active scanning.
    var activePHYs: Set<PHY>
    var ownAddress: DeviceAddress
    var filtersByList = false
    /// Accepts directed advertisements to any resolvable private address.
    var passesResolvableTargets = false
    var duplicates = Duplicates.all
    /// True if extended advertising is received, too.
    var isExtended = false
    /// Scan duration; 0 to scan until stopped.
    var duration: Microseconds = .zero
    /// Scan period, from the start of one duration to the start of the next; 0 for a single duration.
    var period: Microseconds = .zero
}

protocol ScannerDelegate: AnyObject {
    /// Identity of an advertiser; nil if it must be ignored.
    func scanner(_ scanner: Scanner, identifies address: DeviceAddress) -> KnownDevice?
    /// True if the filter accept list contains an advertiser; nil stands for an anonymous one.
    func scanner(_ scanner: Scanner, accepts device: KnownDevice?) -> Bool
    /// True if the target address of directed advertising belongs to this device.
    func scanner(_ scanner: Scanner, isOwn address: DeviceAddress, calledBy advertiser: DeviceAddress?) -> Bool
    /// Own address towards an advertiser.
    func scanner(_ scanner: Scanner, addressFor device: KnownDevice) -> DeviceAddress
    func scanner(_ scanner: Scanner, heard report: AdvertisingReport)
    /// An auxiliary packet announces a train.
    func scanner(_ scanner: Scanner, heard info: SyncInfo, of advertiser: DeviceAddress, sid: UInt8, in reception: Reception)
    /// The duration has elapsed and no period follows; the scanner has stopped.
    func scannerTimedOut(_ scanner: Scanner)
}

/// The scanning state: passive or active, legacy and extended, on one or two PHYs. Core Vol 6, Part B, 4.4.3.
final class Scanner: ListenerOwner {
    /// An extended advertising event being received.
    struct Event {
        var report: AdvertisingReport
        var dataInfo: AdvertisingDataInfo?
        var key: DuplicateFilter.Key?
        /// True if a report with status "incomplete, more data to come" was sent.
        var isOpen = false
        /// True for a duplicate, which is only followed to request the scan response.
        var isKnown = false
    }

    let settings: ScannerSettings
    let listener: WindowedListener
    unowned let delegate: any ScannerDelegate
    var duplicates = DuplicateFilter()
    var backoff = Backoff()
    var random: RandomSource
    /// Events by number; announced packets refer to it.
    var events: [Int: Event] = [:]
    /// The current request: advertiser, its advertisement, and number of the extended event.
    var request: (advertiser: DeviceAddress, report: AdvertisingReport, event: Int?)?
    private var nextEvent = 0
    private var durationTimer: AirTimer!
    private var periodTimer: AirTimer!

    init(_ settings: ScannerSettings, radio: Radio, quirks: ControllerQuirks, random: RandomSource, delegate: any ScannerDelegate) {
        self.settings = settings
        self.random = random
        self.delegate = delegate
        listener = WindowedListener(settings.windows, priority: RadioPriority.scanning, radio: radio, quirks: quirks)
        listener.owner = self
        durationTimer = AirTimer(on: radio.air.loop) { [unowned self] in durationOver() }
        periodTimer = AirTimer(on: radio.air.loop) { [unowned self] in beginPeriod() }
    }

    func start() {
        listener.start()
        let now = listener.loop.now
        if settings.duration > 0 { durationTimer.set(at: now + settings.duration) }
        if settings.period > 0 { periodTimer.set(at: now + settings.period) }
    }

    func stop() {
        listener.stop()
        durationTimer.cancel()
        periodTimer.cancel()
        events.removeAll()
    }

    private func durationOver() {
        if settings.period > 0 { return listener.pause() }
        stop()
        delegate.scannerTimedOut(self)
    }

    private func beginPeriod() {
        if settings.duplicates == .filteredPerPeriod { duplicates.removeAll() }
        start()
    }

    // MARK: Reception

    func heard(_ pdu: AdvertisingPDU, _ reception: Reception) -> Bool {
        switch pdu.type {
        case .advInd, .advNonconnInd, .advScanInd, .advDirectInd: heardLegacy(pdu, reception)
        case .extended where settings.isExtended: heardExtended(pdu, reception)
        case .extended, .scanReq, .scanRsp, .connectInd, .auxConnectRsp: false
        }
    }

    func heard(_ pdu: AdvertisingPDU, _ reception: Reception, announcedAs announcement: WindowedListener.AuxiliaryReception) -> Bool {
        heardAuxiliary(pdu, reception, event: announcement.event)
    }

    func missed(_ announcement: WindowedListener.AuxiliaryReception) { close(announcement.event, status: .truncated) }

    func exchangeSent(at end: Microseconds) { listener.awaitAnswer(after: end) }

    func exchangeAnswered(_ reception: Reception?) -> Bool {
        guard let request else { return false }
        self.request = nil
        let pdu = reception.flatMap { $0.isIntact ? AdvertisingPDU($0.pdu) : nil }
        let isAnswered: Bool
        if let reception, let pdu {
            isAnswered =
                request.event.map { heardAuxiliaryResponse(pdu, reception, event: $0, from: request.advertiser) }
                ?? heardScanResponse(pdu, reception, request.advertiser, request.report)
        } else {
            isAnswered = false
        }
        if isAnswered { backoff.requestSucceeded(&random) } else { backoff.requestFailed(&random) }
        if !isAnswered, let event = request.event { close(event, status: .truncated) }
        return false
    }

    func exchangeLost() {
        guard let request else { return }
        self.request = nil
        if let event = request.event { close(event, status: .truncated) }
    }

    // MARK: Filtering

    /// True if privacy and filter policy accept an advertisement; also fills in the identities of its addresses. Core Vol 6, Part B, 4.3.3
    /// and 6.
    func passes(_ report: inout AdvertisingReport) -> Bool {
        if let advertiser = report.advertiser {
            guard let device = delegate.scanner(self, identifies: advertiser) else { return false }
            report.device = device
        }
        if settings.filtersByList, !delegate.scanner(self, accepts: report.device) { return false }
        guard let target = report.target else { return true }
        report.isForOwnAddress = delegate.scanner(self, isOwn: target, calledBy: report.advertiser)
        return report.isForOwnAddress || settings.passesResolvableTargets && target.isResolvablePrivate
    }

    /// SCAN_REQ or AUX_SCAN_REQ.
    func scanRequest(to advertiser: DeviceAddress, _ report: AdvertisingReport) -> AdvertisingPDU {
        let own = report.device.map { delegate.scanner(self, addressFor: $0) } ?? settings.ownAddress
        return .scanRequest(from: own, to: advertiser)
    }

    func isNew(_ key: DuplicateFilter.Key) -> Bool {
        settings.duplicates == .all || duplicates.insert(key)
    }

    func makeEvent(_ event: Event) -> Int {
        nextEvent &+= 1
        events[nextEvent] = event
        return nextEvent
    }
}

extension DeviceAddress {
    /// True for a resolvable private address, by its two most significant bits. Core Vol 6, Part B, 1.3.2.2.
    var isResolvablePrivate: Bool { kind == .random && value >> 46 == 0b01 }
}
