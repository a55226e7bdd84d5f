import BBPackets
import BBTiming

protocol InquiryScannerDelegate: AnyObject {
    /// The response to an ID packet, sent at `start`, and the extended response that follows it.
    func response(of scanner: InquiryScanner, at start: Microseconds) -> (response: FHSPayload, extended: ExtendedResponse?)
}

/// The inquiry scan and inquiry response substates. Core Vol 2, Part B, 8.4.1 and 8.4.3.
final class InquiryScanner: RadioActivity {
    struct Settings: Equatable {
        /// Inquiry scan interval, from the start of one window to the start of the next.
        var interval: Microseconds
        var window: Microseconds
        /// Interlaced scan: each window is followed by a second one with the phase advanced by 16.
        var isInterlaced: Bool
        /// One or two LAPs to listen for.
        var laps: [UInt32]
    }

    private enum Phase {
        /// Between windows, in back-off after a response, or without the radio.
        case idle
        /// Listening in a phase of the sequence.
        case scanning(phase: Int)
        case sendingResponse(extended: ExtendedResponse?, on: Int, lap: UInt32, start: Microseconds)
        case sendingExtended
    }

    private(set) var settings: Settings
    private let clock: NativeClock
    private let radio: Radio
    private unowned let delegate: any InquiryScannerDelegate
    private var random: RandomSource
    private var phase = Phase.idle
    /// N: phase increments by responses.
    private var shift = 0
    /// End of the random back-off after a response.
    private var silentUntil = Microseconds.zero
    private var schedule: ScanSchedule!

    private var loop: RunLoop { radio.air.loop }
    /// Continuous scanning gets the priority of LE scanning.
    var priority: Int { schedule.priority }

    init(
        _ settings: Settings, clock: NativeClock, radio: Radio, random: RandomSource, delegate: any InquiryScannerDelegate
    ) {
        self.settings = settings
        self.clock = clock
        self.radio = radio
        self.random = random
        self.delegate = delegate
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

    /// Continues to scan with new settings, with windows counted from now. A response under way is still sent.
    func change(_ settings: Settings) {
        guard settings != self.settings else { return }
        self.settings = settings
        begin()
        switch phase {
        case .idle, .scanning: scan()
        case .sendingResponse, .sendingExtended: break
        }
    }

    // MARK: Listening

    /// Listens for the rest of the window and of the phase, or waits for the next window.
    private func scan() {
        phase = .idle
        guard loop.now >= silentUntil else { return schedule.rest(self, until: silentUntil) }
        guard let stretch = schedule.open(for: self) else { return }
        let hop = InquiryHops.scanPhase(clock: NativeClock.value(of: stretch.tick), shift: shift + stretch.shift)
        phase = .scanning(phase: hop)
        let tuning = BREDRTuning(
            rfChannel: InquiryHops.idChannels[hop], lap: settings.laps.first ?? InquiryLAP.general,
            otherLAP: settings.laps.dropFirst().first)
        radio.listen(tuning, from: loop.now, until: stretch.end)
    }

    func windowClosed() { scan() }

    func radioIsFree() {
        if case .idle = phase { scan() }
    }

    func preempted() { scan() }

    // MARK: Responding

    func received(_ reception: BREDRReception) {
        guard case .scanning(let hop) = phase, reception.isIntact, reception.packet.type == nil else { return scan() }
        let start = reception.start + InquiryResponse.delay
        let (response, extended) = delegate.response(of: self, at: start)
        phase = .sendingResponse(extended: extended, on: hop, lap: reception.packet.lap, start: start)
        radio.transmit(answer(.fhs, response.payload, on: hop, reception.packet.lap), at: start)
    }

    func transmitted(at end: Microseconds) {
        guard case .sendingResponse(let extended?, let hop, let lap, let start) = phase else { return fallSilent() }
        phase = .sendingExtended
        radio.transmit(answer(extended.packetType, extended.payload, on: hop, lap), at: start + InquiryResponse.extendedDelay)
    }

    private func answer(_ type: BREDRPacketType, _ payload: [UInt8], on hop: Int, _ lap: UInt32) -> BREDRPacket {
        BREDRPacket(
            rfChannel: InquiryHops.responseChannels[hop], lap: lap, type: type, payload: payload, whitening: Whitening(phase: hop))
    }

    /// Back-off after a response: idle for a random number of slots, then scan in the next phase.
    private func fallSilent() {
        let slots = Int(random.next() % (settings.interval >= .milliseconds(1_280) ? 1_024 : 128))
        silentUntil = loop.now + NativeClock.slot * slots
        shift = (shift + 1) % InquiryHops.count
        scan()
    }
}
