import Packets
import Timing

/// One use of a radio at a time: an advertising event, a scan window, an initiator's window, a connection event.
///
/// The calls come from the loop, never from within the call on the radio that led to them.
protocol RadioActivity: AnyObject {
    /// Who wins when two want the radio; see `RadioPriority`. Read at every contest, so it may grow with each event missed.
    var priority: Int { get }
    /// The packet handed to `transmit` has left; the radio is idle.
    func transmitted(at end: Microseconds)
    /// A packet arrived, intact or not; the radio is idle until told to listen again.
    func received(_ reception: Reception)
    /// The same for a packet of BR/EDR.
    func received(_ reception: BREDRReception)
    /// No packet started within the window; the radio is idle.
    func windowClosed()
    /// A more important activity took the radio: what was under way is lost, nothing more will be heard of it.
    func preempted()
    /// The radio that was waited for (`Radio.wait(_:)`) is free; whoever acquires first has it.
    func radioIsFree()
}

extension RadioActivity {
    func transmitted(at end: Microseconds) {}
    func received(_ reception: Reception) {}
    func received(_ reception: BREDRReception) {}
    func radioIsFree() {}
}

/// The usual priorities; a connection that misses events rises above its neighbours.
enum RadioPriority {
    static let scanning = 10
    static let initiating = 20
    /// Inquiry and inquiry scan, which share the radio with the windows of LE by giving it back.
    static let inquiry = 25
    static let advertising = 30
    static let connection = 100
}

/// A controller's one radio, for LE and BR/EDR: half duplex, on one channel at a time, used by one activity at a time.
final class Radio {
    private enum State {
        case idle
        case waitingToTransmit
        case transmitting
        case listening
        case receiving
    }

    /// Its number on the air, in order of making.
    let identifier: Int
    let air: Air
    private var tuning = AirTuning.le(Tuning(channel: 37, phy: .le1M))
    /// The tuning's.
    private var frequency = 0
    /// Unowned, since an activity leaves before it goes: a weak reference would slow down every other to it.
    private(set) unowned var owner: (any RadioActivity)?
    private var ownerIdentity: ObjectIdentifier?
    private var state = State.idle
    private var timer: AirTimer!
    private var windowStart: Microseconds = .zero
    private var windowEnd: Microseconds = .zero
    private var outgoing: Transmission!
    private var incoming: Transmission?
    private var reservations: [(activity: ObjectIdentifier, start: Microseconds, priority: Int)] = []
    private var waiting: [any RadioActivity] = []

    init(air: Air, identifier: Int) {
        self.air = air
        self.identifier = identifier
        outgoing = Transmission(source: self)
        timer = AirTimer(on: air.loop) { [unowned self] in timerFired() }
    }

    /// Whether nobody uses it, waits for it, or will need it.
    var isAtRest: Bool { ownerIdentity == nil && reservations.isEmpty && waiting.isEmpty && state == .idle }

    // MARK: Arbitration

    /// Gives the radio to `activity` if nobody as important has it. The loser is told by `preempted()`, after the radio has changed hands.
    func acquire(_ activity: any RadioActivity) -> Bool {
        let identity = ObjectIdentifier(activity)
        if ownerIdentity == identity { return true }
        let loser = owner
        if let loser {
            guard loser.priority < activity.priority else { return false }
            idle()
        }
        owner = activity
        ownerIdentity = identity
        loser?.preempted()
        return true
    }

    /// Gives the radio back, ending whatever it does for `activity`, and tells those that wait.
    func release(_ activity: any RadioActivity) { release(ObjectIdentifier(activity)) }

    private func release(_ activity: ObjectIdentifier) {
        guard ownerIdentity == activity else { return }
        idle()
        owner = nil
        ownerIdentity = nil
        guard !waiting.isEmpty else { return }
        let candidates = waiting.sorted { $0.priority > $1.priority }
        waiting.removeAll(keepingCapacity: true)
        for candidate in candidates {
            if owner == nil { candidate.radioIsFree() } else { waiting.append(candidate) }
        }
    }

    /// Asks for `radioIsFree()` once, when the radio is next given back.
    func wait(_ activity: any RadioActivity) {
        guard !waiting.contains(where: { $0 === activity }) else { return }
        waiting.append(activity)
    }

    /// Takes `activity` out of every list; it hears nothing more.
    func forget(_ activity: any RadioActivity) {
        waiting.removeAll { $0 === activity }
        leave(ObjectIdentifier(activity))
    }

    /// The same for an activity that ceases to exist.
    func leave(_ activity: ObjectIdentifier) {
        reservations.removeAll { $0.activity == activity }
        release(activity)
    }

    /// Announces when `activity` next needs the radio, so that others end in time; nil withdraws it.
    func reserve(_ activity: any RadioActivity, at start: Microseconds?) {
        let key = ObjectIdentifier(activity)
        if let index = reservations.firstIndex(where: { $0.activity == key }) {
            if let start { reservations[index].start = start } else { reservations.remove(at: index) }
        } else if let start {
            reservations.append((key, start, activity.priority))
        }
    }

    /// The earliest time from now on at which an activity other than `activity` has announced to need the radio.
    ///
    /// - Parameter least: what counts, by the priority that it had when it began to announce.
    func nextReservation(besides activity: any RadioActivity, from least: Int = .min) -> Microseconds {
        let key = ObjectIdentifier(activity)
        let now = air.loop.now
        var earliest = Microseconds.never
        for reservation in reservations
        where reservation.activity != key && reservation.start >= now && reservation.start < earliest && reservation.priority >= least {
            earliest = reservation.start
        }
        return earliest
    }

    // MARK: Sending and listening

    /// Sends a packet that starts at `start`, now at the earliest. Only the owner may ask.
    func transmit(_ packet: consuming LEPacket, at start: Microseconds) { transmit(.le(packet), at: start) }
    func transmit(_ packet: consuming BREDRPacket, at start: Microseconds) { transmit(.bredr(packet), at: start) }

    private func transmit(_ packet: consuming AirPacket, at start: Microseconds) {
        idle()
        outgoing.prepare(packet, at: max(start, air.loop.now))
        state = .waitingToTransmit
        timer.set(at: outgoing.start)
    }

    /// Listens for a packet that starts within `start...end`; one that has started is received to its end.
    ///
    /// Ends with `received(_:)` or `windowClosed()`; to go on listening, ask again.
    func listen(_ tuning: Tuning, from start: Microseconds, until end: Microseconds) { listen(.le(tuning), from: start, until: end) }
    func listen(_ tuning: BREDRTuning, from start: Microseconds, until end: Microseconds) {
        listen(.bredr(tuning), from: start, until: end)
    }

    private func listen(_ tuning: AirTuning, from start: Microseconds, until end: Microseconds) {
        idle()
        self.tuning = tuning
        frequency = tuning.channel.frequency
        windowStart = start
        windowEnd = end
        state = .listening
        air.tune(self, to: frequency)
        if end != .never { timer.set(at: end + 1) }
    }

    /// Stops sending or listening; the owner keeps the radio.
    func idle() {
        switch state {
        case .idle: return
        case .waitingToTransmit: break
        case .transmitting: air.abandon(outgoing)
        case .listening: air.untune(self, from: frequency)
        case .receiving:
            incoming?.listeners.removeAll { $0.radio === self }
            incoming = nil
        }
        state = .idle
        timer.cancel()
    }

    /// Whether a packet is being received.
    var isReceiving: Bool { state == .receiving }

    private func timerFired() {
        switch state {
        case .idle, .receiving: break
        case .waitingToTransmit:
            state = .transmitting
            timer.set(at: outgoing.end)
            air.begin(outgoing)
        case .transmitting:
            state = .idle
            air.finish(outgoing)
        case .listening:
            air.untune(self, from: frequency)
            state = .idle
            owner?.windowClosed()
        }
    }

    // MARK: What the air tells

    /// Whether a packet that starts now would be followed.
    func follows(_ transmission: Transmission) -> Bool {
        state == .listening && windowStart <= transmission.start && transmission.start <= windowEnd && tuning.hears(transmission.tuning)
    }

    /// Whether the CRC of a packet that is followed comes out right, if nothing happens to it.
    func recovers(_ transmission: Transmission) -> Bool { tuning.recovers(transmission.tuning) }

    func lock(on transmission: Transmission) {
        air.untune(self, from: frequency)
        timer.cancel()
        state = .receiving
        incoming = transmission
    }

    func deliver(_ packet: AirPacket, from start: Microseconds, to end: Microseconds, rssi: Int8, isIntact: Bool) {
        state = .idle
        incoming = nil
        switch packet {
        case .le(let packet):
            guard case .le(let tuning) = tuning else { return }
            owner?.received(
                Reception(pdu: packet.pdu, phy: packet.phy, tuning: tuning, start: start, end: end, rssi: rssi, isIntact: isIntact))
        case .bredr(let packet):
            guard case .bredr = tuning else { return }
            owner?.received(BREDRReception(packet: packet, start: start, rssi: rssi, isIntact: isIntact))
        }
    }

    func sent() { owner?.transmitted(at: outgoing.end) }
}
