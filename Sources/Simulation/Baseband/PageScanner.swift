import BBPackets
import BBTiming

protocol PageScannerDelegate: AnyObject {
    /// The FHS packet of a pager was received and acknowledged; the first packet of the connection is due at `start`.
    ///
    /// - Parameter sent: start of the FHS packet, to which its clock value refers.
    func pageScanner(_ scanner: PageScanner, joins central: FHSPayload, sentAt sent: Microseconds, firstPacketAt start: Microseconds)
}

/// The page scan and peripheral page response substates. Core Vol 2, Part B, 8.3.1 and 8.3.3.1.
final class PageScanner: RadioActivity {
    struct Settings: Equatable {
        /// Page scan interval, from the start of one window to the start of the next.
        var interval: Microseconds
        var window: Microseconds
        /// Interlaced scan: each window is followed by a second one with the phase advanced by 16.
        var isInterlaced = false
    }

    /// A page that was received.
    private struct Page {
        /// Start of the ID packet.
        var start: Microseconds
        /// Hop phase, frozen while the page response is under way.
        var phase: Int
        /// N: number of FHS packets that were due so far.
        var count = 1
    }

    private enum Phase {
        /// Between windows, or without the radio.
        case idle
        case scanning(phase: Int)
        case sendingResponse(Page)
        case awaitingHandover(Page)
        case sendingAnswer(FHSPayload, sent: Microseconds)
    }

    private(set) var settings: Settings
    private let address: BDADDR
    private let clock: NativeClock
    private let radio: Radio
    private let channels: PageChannels
    private unowned let delegate: any PageScannerDelegate
    private var phase = Phase.idle
    private var schedule: ScanSchedule!

    private var loop: RunLoop { radio.air.loop }

    /// Continuous scanning gets the priority of LE scanning; a page response gets a higher one.
    var priority: Int {
        switch phase {
        case .idle, .scanning: schedule.priority
        case .sendingResponse, .awaitingHandover, .sendingAnswer: RadioPriority.connection
        }
    }

    init(_ settings: Settings, address: BDADDR, clock: NativeClock, radio: Radio, delegate: any PageScannerDelegate) {
        self.settings = settings
        self.address = address
        self.clock = clock
        self.radio = radio
        self.delegate = delegate
        channels = PageChannels(address)
        schedule = ScanSchedule(clock: clock, radio: radio) { [unowned self] in scan() }
    }

    func start() {
        begin()
        scan()
    }

    private func begin() {
        schedule.begin(interval: settings.interval, window: settings.window, isInterlaced: settings.isInterlaced)
    }

    deinit { radio.leave(ObjectIdentifier(self)) }

    /// See `ScanSchedule.isIrregular`. Set only from the loop.
    var isIrregular: Bool {
        get { schedule.isIrregular }
        set {
            guard newValue != isIrregular else { return }
            schedule.isIrregular = newValue
            if newValue, case .idle = phase { scan() }
        }
    }

    func stop() {
        schedule.stop()
        radio.forget(self)
    }

    /// Continues to scan with new settings, with windows counted from now. A response under way continues.
    func change(_ settings: Settings) {
        guard settings != self.settings else { return }
        self.settings = settings
        begin()
        switch phase {
        case .idle, .scanning: scan()
        case .sendingResponse, .awaitingHandover, .sendingAnswer: break
        }
    }

    // MARK: Scanning

    /// Listens for the rest of the window and of the phase, or waits for the next window.
    private func scan() {
        phase = .idle
        guard let stretch = schedule.open(for: self) else { return }
        let hop = PageHops.scanPhase(clock: NativeClock.value(of: stretch.tick)) + stretch.shift
        phase = .scanning(phase: hop)
        listen(on: channels.id(hop), from: loop.now, until: stretch.end)
    }

    private func listen(on channel: UInt8, from start: Microseconds, until end: Microseconds) {
        radio.listen(BREDRTuning(rfChannel: channel, lap: address.lap), from: start, until: end)
    }

    func radioIsFree() {
        if case .idle = phase { scan() }
    }

    func preempted() { scan() }

    // MARK: Responding

    func windowClosed() {
        guard case .awaitingHandover(var page) = phase else { return scan() }
        page.count += 1
        awaitHandover(page)
    }

    /// Listens for the FHS packet in the pager's next even slot: 1,250 us after an ID packet in the first half of its slot, 937.5 us after
    /// one in the second half. Returns to scanning after pagerespTO.
    private func awaitHandover(_ page: Page) {
        let latest = page.start + NativeClock.slot * (2 * page.count)
        guard latest <= page.start + PageTiming.answerDelay + PageTiming.responseTimeout else { return scan() }
        phase = .awaitingHandover(page)
        listen(
            on: channels.id(page.phase + page.count), from: latest - NativeClock.halfSlot - PageTiming.uncertainty,
            until: latest + PageTiming.uncertainty)
    }

    func received(_ reception: BREDRReception) {
        switch phase {
        case .scanning(let hop) where reception.isIntact && reception.packet.type == nil:
            phase = .sendingResponse(Page(start: reception.start, phase: hop))
            answer(on: hop, reception)
        case .awaitingHandover(let page):
            guard reception.isIntact, reception.packet.type == .fhs, let central = FHSPayload(payload: reception.packet.payload) else {
                return windowClosed()
            }
            phase = .sendingAnswer(central, sent: reception.start)
            answer(on: page.phase + page.count, reception)
        case .idle, .scanning, .sendingResponse, .sendingAnswer: scan()
        }
    }

    /// Replies with an ID packet (the device access code) in the slot after the packet.
    private func answer(on hop: Int, _ reception: BREDRReception) {
        radio.transmit(
            BREDRPacket(rfChannel: channels.response(hop), lap: address.lap), at: reception.start + PageTiming.answerDelay)
    }

    func transmitted(at end: Microseconds) {
        switch phase {
        case .sendingResponse(let page): awaitHandover(page)
        case .sendingAnswer(let central, let sent):
            phase = .idle
            schedule.rest(self, until: sent + PageTiming.answerDelay * 2)
            delegate.pageScanner(self, joins: central, sentAt: sent, firstPacketAt: sent + PageTiming.answerDelay * 2)
        case .idle, .scanning, .awaitingHandover: break
        }
    }
}
