import BBPackets
import BBTiming

/// One exclusive use of a radio: an advertising event, a scan window, an initiator's window or a connection event.
///
/// Callbacks come from the loop, never from within the activity's own call to the radio.
protocol RadioActivity: AnyObject {
    /// Arbitration priority; see `RadioPriority`. Read at every contest, so it may grow with each missed event.
    var priority: Int { get }
    /// The packet given to `transmit` has been sent; the radio is idle.
    func transmitted(at end: Microseconds)
    /// An LE packet arrived, intact or corrupted; the radio is idle until it is told to listen again.
    func received(_ reception: Reception)
    /// A BR/EDR packet arrived; otherwise as for LE.
    func received(_ reception: BREDRReception)
    /// No packet started within the listening window; the radio is idle.
    func windowClosed()
    /// An activity of higher priority took the radio. The current transmission or reception is aborted without further callbacks.
    func preempted()
    /// The radio that the activity waited for with `Radio.wait(_:)` is free; the first to acquire it gets it.
    func radioIsFree()
}

extension RadioActivity {
    func transmitted(at end: Microseconds) {}
    func received(_ reception: Reception) {}
    func received(_ reception: BREDRReception) {}
    func radioIsFree() {}
}

/// Default arbitration priorities. A connection's priority grows with each missed event.
enum RadioPriority {
    static let scanning = 10
    static let initiating = 20
    /// Inquiry and inquiry scan; they release the radio regularly so that LE windows get their share.
    static let inquiry = 25
    /// A link that listens without expecting data.
    static let idleLink = 28
    static let advertising = 30
    /// A train or a sync with one.
    static let periodicAdvertising = 60
    static let connection = 100
}

/// The single radio of a controller, for LE and BR/EDR: half duplex, one channel and one activity at a time.
final class Radio {
    private enum State {
        case idle
        case waitingToTransmit
        case transmitting
        case listening
        case receiving
    }

    /// Number of the radio on its air, in order of creation.
    let identifier: Int
    let air: Air
    private var tuning = AirTuning.le(Tuning(channel: 37, phy: .le1M))
    /// Centre frequency of `tuning`.
    private var frequency = 0
    /// Unowned: every activity leaves before it is released, and a weak reference would slow down each access.
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

    /// True if no activity uses the radio, waits for it or has reserved it.
    var isAtRest: Bool { ownerIdentity == nil && reservations.isEmpty && waiting.isEmpty && state == .idle }

    // MARK: Arbitration

    /// Gives the radio to `activity` unless an activity of the same or higher priority owns it. The previous owner gets `preempted()` after
    /// the change of owner.
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

    /// Releases the radio, aborts what it does for `activity` and notifies waiting activities in order of priority.
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

    /// Requests one `radioIsFree()` callback when the radio is next released.
    func wait(_ activity: any RadioActivity) {
        guard !waiting.contains(where: { $0 === activity }) else { return }
        waiting.append(activity)
    }

    /// Removes `activity` from all lists; it gets no further callbacks.
    func forget(_ activity: any RadioActivity) {
        waiting.removeAll { $0 === activity }
        leave(ObjectIdentifier(activity))
    }

    /// Removes the reservation of an activity that is being destroyed and releases the radio if it owned it.
    func leave(_ activity: ObjectIdentifier) {
        reservations.removeAll { $0.activity == activity }
        release(activity)
    }

    /// Reserves the radio for `activity` from `start` on, so that other activities end in time; nil removes the reservation.
    func reserve(_ activity: any RadioActivity, at start: Microseconds?) {
        let key = ObjectIdentifier(activity)
        if let index = reservations.firstIndex(where: { $0.activity == key }) {
            if let start { reservations[index].start = start } else { reservations.remove(at: index) }
        } else if let start {
            reservations.append((key, start, activity.priority))
        }
    }

    /// Start of the earliest future reservation of an activity other than `activity`.
    ///
    /// - Parameter least: lowest priority that counts, as it was when the reservation was made.
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

    /// Sends a packet at `start`, or now if `start` has passed. Only the owner may call it.
    func transmit(_ packet: consuming LEPacket, at start: Microseconds) { transmit(.le(packet), at: start) }
    func transmit(_ packet: consuming BREDRPacket, at start: Microseconds) { transmit(.bredr(packet), at: start) }

    private func transmit(_ packet: consuming AirPacket, at start: Microseconds) {
        idle()
        outgoing.prepare(packet, at: max(start, air.loop.now))
        state = .waitingToTransmit
        timer.set(at: outgoing.start)
    }

    /// Listens for a packet that starts within `start...end`. A packet that has started is received to its end.
    ///
    /// Ends with `received(_:)` or `windowClosed()`. Call again to continue listening.
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

    /// Stops transmitting or listening; the owner keeps the radio.
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

    /// True while a packet is being received.
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

    // MARK: Called by the air

    /// True if the radio would synchronize to a packet that starts now.
    func follows(_ transmission: Transmission) -> Bool {
        state == .listening && windowStart <= transmission.start && transmission.start <= windowEnd && tuning.hears(transmission.tuning)
    }

    /// True if the receiver's CRC settings match the packet's, so that the CRC is correct when no bit is corrupted.
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
