import BBPackets

/// Times of connection events, measured by one device's clock. Core Vol 6, Part B, 4.5.1, 4.5.2, 4.5.7 and 4.2.4.
struct EventTiming {
    private let role: ConnectionParameters.Role
    /// Sum of both sleep clock accuracies, in ppm.
    private let clockAccuracy: Int
    private var clock: AnchorClock
    /// connPeripheralLatency.
    private(set) var peripheralLatency: Int
    private(set) var supervisionTimeout: Microseconds
    /// Number of the current or last event; -1 before the first. The low 16 bits are connEventCounter.
    private(set) var eventCounter = -1
    /// Remaining length of the transmit window; 0 once an anchor point was received.
    private(set) var transmitWindow: Microseconds
    private(set) var isEstablished = false
    private var lastAnchor: Microseconds
    private(set) var lastHeard: Microseconds

    /// Number of intervals in which a link must be established.
    static let intervalsToEstablish = 6

    init(_ parameters: ConnectionParameters, _ configuration: ControllerConfiguration, now: Microseconds) {
        role = parameters.role
        clockAccuracy = configuration.clockAccuracy + parameters.peerClockAccuracy
        clock = AnchorClock(first: parameters.transmitWindowStart, interval: parameters.interval, drift: configuration.clockDrift)
        peripheralLatency = parameters.peripheralLatency
        supervisionTimeout = parameters.supervisionTimeout
        transmitWindow = parameters.transmitWindowSize
        lastAnchor = now
        lastHeard = now
    }

    var interval: Microseconds { clock.interval }

    func anchor(of event: Int) -> Microseconds { clock.anchor(of: event) }

    /// Time at which the link needs the radio for an event.
    func start(of event: Int) -> Microseconds { anchor(of: event) - widening(of: event) }

    /// Latest start of an event that was delayed by the event before or by a busier link.
    func latestStart(of event: Int) -> Microseconds {
        switch role {
        case .central: anchor(of: event)
        case .peripheral: anchor(of: event) + transmitWindow + widening(of: event)
        }
    }

    /// Window widening of an event.
    func widening(of event: Int) -> Microseconds {
        guard role == .peripheral else { return .zero }
        return AnchorClock.widening(after: anchor(of: event) - lastAnchor, accuracy: clockAccuracy, interval: interval)
    }

    /// Time at which the supervision timer expires if nothing more is received.
    var supervisionDeadline: Microseconds {
        lastHeard + (isEstablished ? supervisionTimeout : interval * Self.intervalsToEstablish)
    }

    // MARK: Events that the peripheral hears

    /// Number of events after which a peripheral that uses its latency has taken part in `count`. Core Vol 6, Part B, 4.5.1.
    func events(untilHeard count: Int) -> Int { count * (1 + peripheralLatency) }

    /// Duration of `events(untilHeard:)`.
    func time(untilHeard count: Int) -> Microseconds { interval * events(untilHeard: count) }

    /// First event to which a peripheral must listen again after the current one.
    ///
    /// - Parameter instant: event of a pending instant; the peripheral listens to the event before it (5.5.1).
    func nextHeard(before instant: Int?) -> Int {
        let latest = eventCounter + events(untilHeard: 1)
        return instant.map { max(eventCounter + 1, min(latest, $0 - 1)) } ?? latest
    }

    /// First skipped event, before `next`, for which a peripheral can still wake up; nil if it skips none.
    func skipped(before next: Int, now: Microseconds) -> Int? {
        guard role == .peripheral, next > eventCounter + 1, peripheralLatency > 0 else { return nil }
        return (eventCounter + 1..<next).first { start(of: $0) > now }
    }

    mutating func begin(event: Int) { eventCounter = event }

    /// Sets the anchor point from the first packet of an event, intact or not.
    mutating func synchronise(to anchor: Microseconds) {
        clock.rebase(to: anchor, event: eventCounter)
        lastAnchor = anchor
        transmitWindow = .zero
    }

    /// Records the end of an intact packet.
    mutating func heard(at end: Microseconds) {
        lastHeard = end
        isEstablished = true
    }

    /// Applies the parameters of LL_CONNECTION_UPDATE_IND; returns false if they change nothing.
    ///
    /// The supervision timer restarts with the transmit window. Core Vol 6, Part B, 5.1.1. No window is needed once an anchor point has
    /// been received.
    mutating func change(to timing: LinkTiming, at event: Int) -> Bool {
        let before = (interval, peripheralLatency, supervisionTimeout)
        let hasBegun = lastAnchor == anchor(of: event)
        clock.change(interval: timing.interval, at: event, offset: hasBegun ? .zero : timing.windowOffset)
        peripheralLatency = timing.latency
        supervisionTimeout = timing.timeout
        if role == .peripheral, !hasBegun { transmitWindow = timing.windowSize }
        lastHeard = max(lastHeard, anchor(of: event))
        return before != (interval, peripheralLatency, supervisionTimeout)
    }
}
