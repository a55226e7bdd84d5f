import Packets
import Timing

protocol InquirerDelegate: AnyObject {
    /// - Parameters:
    ///   - extended: nil when there is none, or it did not get through.
    ///   - start: of the FHS packet.
    func inquirer(
        _ inquirer: Inquirer, heard response: FHSPayload, extended: ExtendedResponse?, at start: Microseconds, rssi: Int8)
    /// The time is over; the inquirer has stopped.
    func inquirerFinished(_ inquirer: Inquirer)
}

/// The inquiry substate: ID packets in the even slots, two a slot, and an ear for the answers in the odd ones. Core Vol 2, Part B, 8.4.2.
final class Inquirer: RadioActivity {
    struct Settings {
        var lap: UInt32
        var duration: Microseconds
        /// Of the ID packets, in dBm.
        var power: Int8
        /// Whether it stays for extended responses.
        var hearsExtended: Bool
    }

    private enum Phase {
        /// The radio is somebody else's.
        case away
        /// Sending the ID packet of a tick.
        case sending(tick: Int)
        /// Listening for the answer that starts in a tick.
        case awaitingResponse(tick: Int)
        /// An FHS packet announced an extended response, which comes on the same channel.
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

    /// How far an answer may start from where it is due. Core Vol 2, Part B, 2.2.5.
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

    /// Sends the next ID packet: in the first tick from `tick` on that is in an even slot.
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

    /// Listens where the answer to the ID packet of the slot before would start.
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

    /// Goes on with the next tick to come.
    private func resume() { sendNext(from: clock.tick(at: loop.now) + 1) }
}
