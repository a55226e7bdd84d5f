import BBPackets
import BBTiming

protocol PagerDelegate: AnyObject {
    /// Content of the FHS packet that starts at `start`.
    func handover(of pager: Pager, at start: Microseconds) -> FHSPayload
    /// The paged device has acknowledged the FHS packet; the first POLL packet of the connection is due at `start`.
    ///
    /// The pager then waits for `stop()` or `resume()`.
    func pager(_ pager: Pager, reachedAt start: Microseconds)
    /// The page timeout has expired; the pager has stopped.
    func pagerTimedOut(_ pager: Pager)
}

/// The page and central page response substates: sends ID packets with the paged device's access code until it responds, then the FHS
/// packet. Core Vol 2, Part B, 8.3.2 and 8.3.3.2.
final class Pager: RadioActivity {
    struct Settings {
        var address: BDADDR
        /// CLKE minus CLKN in ticks, a multiple of four; 0 if unknown.
        var clockOffset = 0
        /// SR: page scan repetition mode, 0...2 for R0...R2.
        var repetitionMode: UInt8 = 1
        var timeout: Microseconds
    }

    /// An ID packet that was answered, and the FHS packets that follow.
    private struct Answered {
        /// Tick of the ID packet.
        var tick: Int
        /// N: number of FHS packets that were due so far.
        var count = 1

        /// Tick of the next FHS packet, in an even slot.
        var handoverTick: Int { tick & ~3 + 4 * count }
    }

    private enum Phase {
        /// Another activity has the radio.
        case away
        case sending(tick: Int)
        case awaitingResponse(tick: Int)
        case sendingHandover(Answered)
        case awaitingAnswer(Answered)
        /// Waiting for the first packet of the connection. isOverdue: the page timeout has expired meanwhile.
        case connecting(isOverdue: Bool)
    }

    let settings: Settings
    private let clock: NativeClock
    private let radio: Radio
    private let channels: PageChannels
    private unowned let delegate: any PagerDelegate
    private var phase = Phase.away
    private var endTimer: AirTimer!
    private var turns: TrainTurns!

    private var loop: RunLoop { radio.air.loop }

    /// A page response under way gets a higher priority.
    var priority: Int {
        switch phase {
        case .away, .sending, .awaitingResponse: RadioPriority.inquiry
        case .sendingHandover, .awaitingAnswer, .connecting: RadioPriority.connection
        }
    }

    init(_ settings: Settings, clock: NativeClock, radio: Radio, delegate: any PagerDelegate) {
        self.settings = settings
        self.clock = clock
        self.radio = radio
        self.delegate = delegate
        channels = PageChannels(settings.address)
        endTimer = AirTimer(on: radio.air.loop) { [unowned self] in timedOut() }
        turns = TrainTurns(clock: clock, radio: radio) { [unowned self] in takeRadio() }
    }

    deinit { radio.leave(ObjectIdentifier(self)) }

    func start() {
        turns.begin()
        endTimer.set(at: loop.now + settings.timeout)
        takeRadio()
    }

    func stop() {
        endTimer.cancel()
        turns.stop()
        radio.forget(self)
    }

    /// The connection failed: pages again for the remaining time.
    func resume() {
        guard case .connecting(let isOverdue) = phase else { return }
        guard !isOverdue else { return finish() }
        phase = .away
        takeRadio()
    }

    private func timedOut() {
        if case .connecting = phase { phase = .connecting(isOverdue: true) } else { finish() }
    }

    private func finish() {
        stop()
        delegate.pagerTimedOut(self)
    }

    // MARK: Arbitration

    private func takeRadio() {
        guard let tick = turns.takeRadio(for: self) else {
            phase = .away
            return
        }
        sendNext(from: tick)
    }

    func radioIsFree() {
        if case .away = phase { takeRadio() }
    }

    func preempted() {
        if case .connecting = phase { return }
        phase = .away
        radio.wait(self)
    }

    // MARK: Paging

    /// CLKE: the estimated clock of the paged device.
    private func estimate(at tick: Int) -> UInt32 { NativeClock.value(of: tick + settings.clockOffset) }

    private func train(in tick: Int) -> HopTrain {
        PageTiming.train(after: tick - turns.firstTick, mode: settings.repetitionMode)
    }

    /// Sends the next ID packet in the first tick of an even slot, from `tick` on.
    private func sendNext(from tick: Int) {
        guard let tick = turns.nextTick(from: tick, for: self) else {
            phase = .away
            return
        }
        phase = .sending(tick: tick)
        let channel = channels.id(train(in: tick).phase(clock: estimate(at: tick)))
        radio.transmit(BREDRPacket(rfChannel: channel, lap: settings.address.lap), at: clock.start(of: tick))
    }

    func transmitted(at end: Microseconds) {
        switch phase {
        case .sending(let tick):
            if tick & 1 == 0 { sendNext(from: tick + 1) } else { listen(in: tick - 1) }
        case .sendingHandover(let answered):
            phase = .awaitingAnswer(answered)
            listen(on: channels.response(phase(of: answered)), in: answered.handoverTick + 2)
        case .away, .awaitingResponse, .awaitingAnswer, .connecting: break
        }
    }

    /// Listens for the response to the ID packet of a tick.
    private func listen(in tick: Int) {
        phase = .awaitingResponse(tick: tick)
        listen(on: channels.response(train(in: tick).phase(clock: estimate(at: tick))), in: tick + 2)
    }

    private func listen(on channel: UInt8, in tick: Int) {
        let due = clock.start(of: tick)
        radio.listen(
            BREDRTuning(rfChannel: channel, lap: settings.address.lap), from: due - PageTiming.uncertainty,
            until: due + PageTiming.uncertainty)
    }

    func windowClosed() {
        switch phase {
        case .awaitingResponse(let tick): tick & 1 == 0 ? listen(in: tick + 1) : sendNext(from: tick + 3)
        case .awaitingAnswer(var answered):
            answered.count += 1
            handOver(answered)
        case .away, .sending, .sendingHandover, .connecting: break
        }
    }

    func received(_ reception: BREDRReception) {
        let isAnswer = reception.isIntact && reception.packet.type == nil
        switch phase {
        case .awaitingResponse(let tick): isAnswer ? handOver(Answered(tick: tick)) : windowClosed()
        case .awaitingAnswer(let answered):
            guard isAnswer else { return windowClosed() }
            phase = .connecting(isOverdue: false)
            radio.release(self)
            delegate.pager(self, reachedAt: clock.start(of: answered.handoverTick + 4))
        case .away, .sending, .sendingHandover, .connecting: break
        }
    }

    // MARK: Central page response

    /// Xprc: central page response phase.
    private func phase(of answered: Answered) -> Int {
        PageHops.centralResponsePhase(clock: estimate(at: answered.tick), train: train(in: answered.tick), count: answered.count)
    }

    /// Sends the FHS packet, unless pagerespTO has expired since the response.
    private func handOver(_ answered: Answered) {
        let start = clock.start(of: answered.handoverTick)
        guard start <= clock.start(of: answered.tick) + PageTiming.answerDelay + PageTiming.responseTimeout else {
            phase = .away
            return takeRadio()
        }
        phase = .sendingHandover(answered)
        let payload = delegate.handover(of: self, at: start).payload
        let hop = phase(of: answered)
        radio.transmit(
            BREDRPacket(
                rfChannel: channels.id(hop), lap: settings.address.lap, uap: settings.address.uap, type: .fhs, payload: payload,
                whitening: Whitening(phase: hop), isFromCentral: true),
            at: start)
    }
}
