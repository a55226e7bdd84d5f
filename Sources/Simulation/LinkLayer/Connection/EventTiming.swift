import Packets

/// When the events of a link are, as one side's clock has it. Core Vol 6, Part B, 4.5.1, 4.5.2, 4.5.7 and 4.2.4.
struct EventTiming {
    private let role: ConnectionParameters.Role
    /// Of both sleep clocks together, in parts per million.
    private let clockAccuracy: Int
    private var clock: AnchorClock
    /// connPeripheralLatency.
    private(set) var peripheralLatency: Int
    private(set) var supervisionTimeout: Microseconds
    /// The counter of the event under way, or of the last one; -1 before the first. Its low 16 bits are connEventCounter.
    private(set) var eventCounter = -1
    /// How long the transmit window still is, until an anchor has been heard in it.
    private(set) var transmitWindow: Microseconds
    private(set) var isEstablished = false
    private var lastAnchor: Microseconds
    private(set) var lastHeard: Microseconds

    /// Before the first packet, a link has six intervals.
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

    /// When the link needs the radio for an event.
    func start(of event: Int) -> Microseconds { anchor(of: event) - widening(of: event) }

    /// When it is too late for an event: the event before, or a busier link, took too long.
    func latestStart(of event: Int) -> Microseconds {
        switch role {
        case .central: anchor(of: event)
        case .peripheral: anchor(of: event) + transmitWindow + widening(of: event)
        }
    }

    /// How far the central's packet may lie from where it is expected.
    func widening(of event: Int) -> Microseconds {
        guard role == .peripheral else { return .zero }
        return AnchorClock.widening(after: anchor(of: event) - lastAnchor, accuracy: clockAccuracy, interval: interval)
    }

    /// When the supervision timer expires, if nothing more is heard.
    var supervisionDeadline: Microseconds {
        lastHeard + (isEstablished ? supervisionTimeout : interval * Self.intervalsToEstablish)
    }

    mutating func begin(event: Int) { eventCounter = event }

    /// The first packet of an event, corrupt or not, is the anchor point.
    mutating func synchronise(to anchor: Microseconds) {
        clock.rebase(to: anchor, event: eventCounter)
        lastAnchor = anchor
        transmitWindow = .zero
    }

    /// An intact packet ended.
    mutating func heard(at end: Microseconds) {
        lastHeard = end
        isEstablished = true
    }

    /// Takes the contents of LL_CONNECTION_UPDATE_IND into use; false when nothing differs from before.
    ///
    /// The supervision timer starts anew with the transmit window. Core Vol 6, Part B, 5.1.1. An anchor point that has been heard needs no window any more.
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
