import BBPackets
import BBTiming

protocol InquirerDelegate: AnyObject {
    /// Reports an inquiry response.
    ///
    /// - Parameters:
    ///   - extended: nil if there was none or it was not received.
    ///   - start: start of the FHS packet.
    func inquirer(
        _ inquirer: Inquirer, heard response: FHSPayload, extended: ExtendedResponse?, at start: Microseconds, rssi: Int8)
    /// The inquiry duration has elapsed; the inquirer has stopped.
    func inquirerFinished(_ inquirer: Inquirer)
}

/// The inquiry substate: sends two ID packets in each even slot and listens for responses in odd slots. Core Vol 2, Part B, 8.4.2.
final class Inquirer: RadioActivity {
    struct Settings {
        var lap: UInt32
        var duration: Microseconds
        /// Transmit power of ID packets, in dBm.
        var power: Int8
        /// True if extended inquiry responses are received.
        var hearsExtended: Bool
    }

    private enum Phase {
        /// Another activity has the radio.
        case away
        /// Sending the ID packet of a tick.
        case sending(tick: Int)
        /// Listening for the response that starts in a tick.
        case awaitingResponse(tick: Int)
        /// Waiting for the extended response that an FHS packet announced, on the same channel.
        case awaitingExtended(FHSPayload, start: Microseconds, rssi: Int8)
    }

    let settings: Settings
    private let clock: NativeClock
    private let radio: Radio
    private unowned let delegate: any InquirerDelegate
    private var phase = Phase.away
    private var end = Microseconds.zero
    private var endTimer: AirTimer!
    private var turns: TrainTurns!

    /// Maximum deviation of a response from its nominal start. Core Vol 2, Part B, 2.2.5.
    private static let uncertainty: Microseconds = 10

    private var loop: RunLoop { radio.air.loop }
    var priority: Int { RadioPriority.inquiry }

    init(_ settings: Settings, clock: NativeClock, radio: Radio, delegate: any InquirerDelegate) {
        self.settings = settings
        self.clock = clock
        self.radio = radio
        self.delegate = delegate
        endTimer = AirTimer(on: radio.air.loop) { [unowned self] in finish() }
        turns = TrainTurns(clock: clock, radio: radio) { [unowned self] in takeRadio() }
    }

    deinit { radio.leave(ObjectIdentifier(self)) }

    func start() {
        turns.begin()
        end = loop.now + settings.duration
        endTimer.set(at: end)
        takeRadio()
    }

    func stop() {
        endTimer.cancel()
        turns.stop()
        radio.forget(self)
    }

    private func finish() {
        stop()
        delegate.inquirerFinished(self)
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
        phase = .away
        radio.wait(self)
    }

    // MARK: Sending

    /// Sends the next ID packet in the first tick of an even slot, from `tick` on.
    private func sendNext(from tick: Int) {
        guard let tick = turns.nextTick(from: tick, for: self) else {
            phase = .away
            return
        }
        let start = clock.start(of: tick)
        phase = .sending(tick: tick)
        guard start + BREDRPacket.idAirTime <= end else { return radio.idle() }
        radio.transmit(
            BREDRPacket(rfChannel: InquiryHops.idChannels[hop(in: tick)], lap: settings.lap, power: settings.power), at: start)
    }

    func transmitted(at end: Microseconds) {
        guard case .sending(let tick) = phase else { return }
        if tick & 1 == 0 { sendNext(from: tick + 1) } else { listen(in: tick + 1) }
    }

    private func hop(in tick: Int) -> Int {
        InquiryHops.train(in: tick - turns.firstTick).phase(clock: NativeClock.value(of: tick))
    }

    // MARK: Receiving

    /// Listens in the tick where the response to the ID packet of the previous slot would start.
    private func listen(in tick: Int) {
        phase = .awaitingResponse(tick: tick)
        listen(on: InquiryHops.responseChannels[hop(in: tick)], around: clock.start(of: tick))
    }

    private func listen(on rfChannel: UInt8, around due: Microseconds) {
        radio.listen(
            BREDRTuning(rfChannel: rfChannel, lap: settings.lap), from: due - Self.uncertainty, until: due + Self.uncertainty)
    }

    func windowClosed() {
        switch phase {
        case .away, .sending: break
        case .awaitingResponse(let tick): tick & 1 == 0 ? listen(in: tick + 1) : sendNext(from: tick + 1)
        case .awaitingExtended(let response, let start, let rssi): tell(response, nil, start, rssi)
        }
    }

    func received(_ reception: BREDRReception) {
        switch phase {
        case .away, .sending: break
        case .awaitingResponse:
            guard reception.isIntact, reception.packet.type == .fhs, let response = FHSPayload(payload: reception.packet.payload)
            else {
                return resume()
            }
            guard settings.hearsExtended, response.announcesExtended else { return tell(response, nil, reception.start, reception.rssi) }
            phase = .awaitingExtended(response, start: reception.start, rssi: reception.rssi)
            listen(on: reception.packet.rfChannel, around: reception.start + InquiryResponse.extendedDelay)
        case .awaitingExtended(let response, let start, let rssi):
            tell(response, reception.isIntact ? ExtendedResponse(reception.packet) : nil, start, rssi)
        }
    }

    private func tell(_ response: FHSPayload, _ extended: ExtendedResponse?, _ start: Microseconds, _ rssi: Int8) {
        resume()
        delegate.inquirer(self, heard: response, extended: extended, at: start, rssi: rssi)
    }

    /// Continues with the next tick.
    private func resume() { sendNext(from: clock.tick(at: loop.now) + 1) }
}
