import Packets
import Timing

protocol InquiryScannerDelegate: AnyObject {
    /// The answer to an ID packet, to be sent at `start`, and what follows it.
    func response(of scanner: InquiryScanner, at start: Microseconds) -> (response: FHSPayload, extended: ExtendedResponse?)
}

/// The inquiry scan and inquiry response substates. Core Vol 2, Part B, 8.4.1 and 8.4.3.
final class InquiryScanner: RadioActivity {
    struct Settings: Equatable {
        /// From the start of one window to that of the next.
        var interval: Microseconds
        var window: Microseconds
        /// Each window is followed by a second one, sixteen phases on.
        var isInterlaced: Bool
        /// One or two.
        var laps: [UInt32]
    }

    private enum Phase {
        /// Between windows, or silent after an answer.
        case idle
        case waitingForRadio
        /// Listening in a phase of the sequence.
        case scanning(phase: Int)
        case sendingResponse(extended: ExtendedResponse?, on: UInt8, lap: UInt32, start: Microseconds)
        case sendingExtended
    }

    private(set) var settings: Settings
    private let clock: NativeClock
    private let radio: Radio
    private unowned let delegate: any InquiryScannerDelegate
    private var random: RandomSource
    private var phase = Phase.idle
    /// N.
    private var shift = 0
    /// The start of the first window.
    private var began = Microseconds.zero
    /// The random time of silence after an answer.
    private var silentUntil = Microseconds.zero
    private var timer: AirTimer!

    private var loop: RunLoop { radio.air.loop }
    /// Who scans without a pause leaves the radio to others as a scanner of LE does.
    var priority: Int { settings.window == settings.interval ? RadioPriority.scanning : RadioPriority.inquiry }

    init(
        _ settings: Settings, clock: NativeClock, radio: Radio, random: RandomSource, delegate: any InquiryScannerDelegate
    ) {
        self.settings = settings
        self.clock = clock
        self.radio = radio
        self.random = random
        self.delegate = delegate
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

    /// Scans on with other settings, in windows counted from now. An answer that is under way is sent all the same.
    func change(_ settings: Settings) {
        guard settings != self.settings else { return }
        self.settings = settings
        began = loop.now
        switch phase {
        case .idle, .waitingForRadio, .scanning: scan()
        case .sendingResponse, .sendingExtended: break
        }
    }

    // MARK: Listening

    /// Listens for the rest of the window and of the phase, or waits for the next window.
    private func scan() {
        timer.cancel()
        radio.reserve(self, at: nil)
        let now = loop.now
        guard now >= silentUntil else { return rest(until: silentUntil) }
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
        let hop = InquiryHops.scanPhase(clock: NativeClock.value(of: tick), shift: shift + (part == 1 ? 16 : 0))
        let nextHop = clock.start(of: (tick / InquiryHops.ticksPerScanPhase + 1) * InquiryHops.ticksPerScanPhase)
        phase = .scanning(phase: hop)
        let tuning = BREDRTuning(
            rfChannel: InquiryHops.idChannels[hop], lap: settings.laps.first ?? InquiryLAP.general,
            otherLAP: settings.laps.dropFirst().first)
        radio.listen(tuning, from: now, until: min(end - BREDRPacket.idAirTime, nextHop - 1))
    }

    private func rest(until time: Microseconds) {
        phase = .idle
        timer.set(at: time)
        radio.reserve(self, at: time)
        radio.release(self)
    }

    /// Interlaced scanning needs room for two windows. Core Vol 2, Part B, 8.4.1.
    private var partsPerInterval: Int { settings.isInterlaced && settings.interval >= settings.window * 2 ? 2 : 1 }

    func windowClosed() { scan() }

    func radioIsFree() {
        if case .waitingForRadio = phase { scan() }
    }

    func preempted() {
        phase = .idle
        scan()
    }

    // MARK: Answering

    func received(_ reception: BREDRReception) {
        guard case .scanning(let hop) = phase, reception.isIntact, reception.packet.type == nil else { return scan() }
        let start = reception.start + InquiryResponse.delay
        let (response, extended) = delegate.response(of: self, at: start)
        let rfChannel = InquiryHops.responseChannels[hop]
        phase = .sendingResponse(extended: extended, on: rfChannel, lap: reception.packet.lap, start: start)
        radio.transmit(BREDRPacket(rfChannel: rfChannel, lap: reception.packet.lap, type: .fhs, payload: response.payload), at: start)
    }

    func transmitted(at end: Microseconds) {
        guard case .sendingResponse(let extended?, let rfChannel, let lap, let start) = phase else { return fallSilent() }
        phase = .sendingExtended
        radio.transmit(
            BREDRPacket(rfChannel: rfChannel, lap: lap, type: extended.packetType, payload: extended.payload),
            at: start + InquiryResponse.extendedDelay)
    }

    /// Leaves a random number of slots to others and goes on in the next phase.
    private func fallSilent() {
        let slots = Int(random.next() % (settings.interval >= .milliseconds(1_280) ? 1_024 : 128))
        silentUntil = loop.now + NativeClock.slot * slots
        shift = (shift + 1) % InquiryHops.count
        scan()
    }
}
