import Packets
import Timing

protocol InquirerDelegate: AnyObject {
    /// - Parameter start: of the FHS packet.
    func inquirer(_ inquirer: Inquirer, heard response: InquiryResponse, at start: Microseconds, rssi: Int8)
    /// The time is over; the inquirer has stopped.
    func inquirerFinished(_ inquirer: Inquirer)
}

/// The inquiry substate: ID packets in the even slots, two a slot, and an ear for the answers in the odd ones. Core Vol 2, Part B, 8.4.2.
final class Inquirer {
    struct Settings {
        var lap: UInt32
        var duration: Microseconds
        /// Of the ID packets, in dBm.
        var power: Int8
        /// Whether it stays for extended responses.
        var hearsExtended: Bool
    }

    /// An answer on its way in.
    private struct Reception {
        var response: InquiryResponse
        var sender: Int
        var power: Int8
        var phase: Int
        var start: Microseconds
        var rssi: Int8
        var isIntact: Bool
        /// Once the FHS packet is in: the extended response is being waited for.
        var isExtended = false
    }

    let settings: Settings
    let clock: NativeClock
    /// Its number on the air.
    let identifier: Int
    private let channel: InquiryChannel
    private unowned let delegate: any InquirerDelegate
    private(set) var isActive = false
    private(set) var end = Microseconds.zero
    private var firstTick = 0
    /// Until then it hears an extended response out and sends nothing.
    private var quietUntil = Microseconds.zero
    private var reception: Reception?
    private var endTimer: AirTimer!
    private var receptionTimer: AirTimer!

    private var loop: RunLoop { channel.air.loop }

    init(_ settings: Settings, clock: NativeClock, identifier: Int, channel: InquiryChannel, delegate: any InquirerDelegate) {
        self.settings = settings
        self.clock = clock
        self.identifier = identifier
        self.channel = channel
        self.delegate = delegate
        endTimer = AirTimer(on: channel.air.loop) { [unowned self] in finish() }
        receptionTimer = AirTimer(on: channel.air.loop) { [unowned self] in received() }
    }

    func start() {
        isActive = true
        firstTick = (clock.tick(at: loop.now) + 4) & ~3
        end = loop.now + settings.duration
        endTimer.set(at: end)
        channel.add(self)
    }

    func stop() {
        isActive = false
        reception = nil
        endTimer.cancel()
        receptionTimer.cancel()
        channel.remove(self)
    }

    private func finish() {
        stop()
        delegate.inquirerFinished(self)
    }

    // MARK: Sending

    /// The first ID packet that starts within `start...last` and in the phase in which the receiver then is.
    func nextID(
        from start: Microseconds, through last: Microseconds, phase receiverPhase: (Microseconds) -> Int
    ) -> (time: Microseconds, phase: Int)? {
        let last = min(last, end - InquiryResponse.idAirTime)
        var tick = max(firstTick, clock.tick(at: start))
        while true {
            let time = clock.start(of: tick)
            if time > last { return nil }
            let value = NativeClock.value(of: tick)
            if value & 2 == 0, time >= start {
                let phase = InquiryHops.inquiryPhase(clock: value, train: InquiryHops.train(in: tick - firstTick))
                if phase == receiverPhase(time) { return (time, phase) }
            }
            tick += 1
        }
    }

    /// Whether it did send at `time`, a moment ago: it may have been hearing somebody out.
    func hasSent(at time: Microseconds) -> Bool { isActive && time >= quietUntil }

    // MARK: Receiving

    /// An FHS packet starts now, on the frequency that answers a phase.
    func receive(_ response: InquiryResponse, phase: Int, power: Int8, from sender: Int) {
        guard isActive, let heard = channel.reception(power: power, from: sender, to: identifier) else { return }
        let arrived = Reception(
            response: response, sender: sender, power: power, phase: phase, start: loop.now, rssi: heard.rssi, isIntact: heard.isIntact)
        guard let other = reception else {
            reception = arrived
            return receptionTimer.set(at: loop.now + InquiryResponse.airTime)
        }
        // It listens to one frequency; two that answered the same ID packet drown one another unless one is much stronger.
        guard other.phase == phase, other.start == loop.now else { return }
        let difference = Int(arrived.rssi) - Int(other.rssi)
        if difference >= Air.captureRatio {
            reception = arrived
        } else if difference > -Air.captureRatio {
            reception?.isIntact = false
        }
    }

    private func received() {
        guard var heard = reception else { return }
        reception = nil
        if heard.isExtended {
            let extended = channel.reception(power: heard.power, from: heard.sender, to: identifier)
            if extended?.isIntact != true { heard.response.extended = nil }
            return delegate.inquirer(self, heard: heard.response, at: heard.start, rssi: heard.rssi)
        }
        guard heard.isIntact else { return }
        guard settings.hearsExtended, heard.response.extended != nil else {
            heard.response.extended = nil
            return delegate.inquirer(self, heard: heard.response, at: heard.start, rssi: heard.rssi)
        }
        heard.isExtended = true
        reception = heard
        quietUntil = heard.start + heard.response.wholeAirTime
        receptionTimer.set(at: quietUntil)
    }
}
