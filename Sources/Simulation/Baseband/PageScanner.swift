import Packets
import Timing

protocol PageScannerDelegate: AnyObject {
    /// A pager has handed over its clock and address, and was answered: its first packet of the connection is due at `start`.
    ///
    /// - Parameter sent: when the FHS packet started, at which the clock in it stood.
    func pageScanner(_ scanner: PageScanner, joins central: FHSPayload, sentAt sent: Microseconds, firstPacketAt start: Microseconds)
}

/// The page scan and peripheral page response substates. Core Vol 2, Part B, 8.3.1 and 8.3.3.1.
final class PageScanner: RadioActivity {
    struct Settings: Equatable {
        /// From the start of one window to that of the next.
        var interval: Microseconds
        var window: Microseconds
        /// Each window is followed by a second one, sixteen phases on.
        var isInterlaced = false
    }

    /// A page that was heard.
    private struct Page {
        /// Of the ID packet.
        var start: Microseconds
        /// Of the hopping sequence, which stands still.
        var phase: Int
        /// N: how many FHS packets were due so far.
        var count = 1
    }

    private enum Phase {
        /// Between windows.
        case idle
        case waitingForRadio
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
    /// The start of the first window.
    private var began = Microseconds.zero
    private var timer: AirTimer!

    private static let ticksPerPhase = 1 << 12
    private var loop: RunLoop { radio.air.loop }

    /// Who scans without a pause leaves the radio to others as a scanner of LE does; a pager that was answered is not kept waiting.
    var priority: Int {
        switch phase {
        case .idle, .waitingForRadio, .scanning: settings.window == settings.interval ? RadioPriority.scanning : RadioPriority.inquiry
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
        timer = AirTimer(on: radio.air.loop) { [unowned self] in scan() }
    }

    func start() {
        began = loop.now
        scan()
    }

    deinit { radio.leave(ObjectIdentifier(self)) }

    func stop() {
        timer.cancel()
        radio.forget(self)
    }

    /// Scans on with other settings, in windows counted from now. A response that is under way goes on.
    func change(_ settings: Settings) {
        guard settings != self.settings else { return }
        self.settings = settings
        began = loop.now
        switch phase {
        case .idle, .waitingForRadio, .scanning: scan()
        case .sendingResponse, .awaitingHandover, .sendingAnswer: break
        }
    }

    // MARK: Scanning

    /// Listens for the rest of the window and of the phase, or waits for the next window.
    private func scan() {
        timer.cancel()
        radio.reserve(self, at: nil)
        phase = .idle
        let now = loop.now
        let interval = began + settings.interval * ((now - began) / settings.interval)
        let part: Int = (now - interval) / settings.window
        guard part < partsPerInterval else { return rest(until: interval + settings.interval) }
        let end = interval + settings.window * (part + 1)
        // An ID packet must fall whole into the window.
        guard now + BREDRPacket.idAirTime <= end else { return rest(until: end) }
        guard radio.acquire(self) else {
            phase = .waitingForRadio
            return radio.wait(self)
        }
        let tick = clock.tick(at: now)
        let hop = PageHops.scanPhase(clock: NativeClock.value(of: tick)) + (part == 1 ? 16 : 0)
        let nextHop = clock.start(of: (tick / Self.ticksPerPhase + 1) * Self.ticksPerPhase)
        phase = .scanning(phase: hop)
        listen(on: channels.id(hop), from: now, until: min(end - BREDRPacket.idAirTime, nextHop - 1))
    }

    private func listen(on channel: UInt8, from start: Microseconds, until end: Microseconds) {
        radio.listen(BREDRTuning(rfChannel: channel, lap: address.lap), from: start, until: end)
    }

    private func rest(until time: Microseconds) {
        phase = .idle
        timer.set(at: time)
        radio.reserve(self, at: time)
        radio.release(self)
    }

    /// Interlaced scanning needs room for two windows. Core Vol 2, Part B, 8.3.1.
    private var partsPerInterval: Int { settings.isInterlaced && settings.interval >= settings.window * 2 ? 2 : 1 }

    func radioIsFree() {
        if case .waitingForRadio = phase { scan() }
    }

    func preempted() { scan() }

    // MARK: Responding

    func windowClosed() {
        guard case .awaitingHandover(var page) = phase else { return scan() }
        page.count += 1
        awaitHandover(page)
    }

    /// Listens for the FHS packet, which comes in the pager's next even slot: 1,250 us after an ID packet of the first half of its slot, 937.5 us after one
    /// of the second. After pagerespTO it scans again.
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
        case .idle, .waitingForRadio, .scanning, .sendingResponse, .sendingAnswer: scan()
        }
    }

    /// With its own access code, in the slot after the packet.
    private func answer(on hop: Int, _ reception: BREDRReception) {
        radio.transmit(
            BREDRPacket(rfChannel: channels.response(hop), lap: address.lap), at: reception.start + PageTiming.answerDelay)
    }

    func transmitted(at end: Microseconds) {
        switch phase {
        case .sendingResponse(let page): awaitHandover(page)
        case .sendingAnswer(let central, let sent):
            rest(until: sent + PageTiming.answerDelay * 2)
            delegate.pageScanner(self, joins: central, sentAt: sent, firstPacketAt: sent + PageTiming.answerDelay * 2)
        case .idle, .waitingForRadio, .scanning, .awaitingHandover: break
        }
    }
}
