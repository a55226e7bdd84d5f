import BBPackets

/// Anchor points of a link as measured by its own sleep clock. Core Vol 6, Part B, 4.2.2 and 4.5.7.
struct AnchorClock {
    private(set) var base: Microseconds
    private(set) var baseEvent: Int
    private(set) var interval: Microseconds
    /// Clock drift in ppm.
    private let drift: Int64

    init(first: Microseconds, interval: Microseconds, drift: Int) {
        base = first
        baseEvent = 0
        self.interval = interval
        self.drift = Int64(drift)
    }

    /// Expected anchor point of an event.
    func anchor(of event: Int) -> Microseconds {
        let span = interval.rawValue * Int64(event - baseEvent)
        return base + Microseconds(span + span * drift / 1_000_000)
    }

    /// Resynchronizes to the observed anchor point of an event.
    mutating func rebase(to anchor: Microseconds, event: Int) {
        base = anchor
        baseEvent = event
    }

    /// Applies a new interval from an event on, whose anchor point is shifted by `offset`.
    mutating func change(interval: Microseconds, at event: Int, offset: Microseconds) {
        rebase(to: anchor(of: event) + offset, event: event)
        self.interval = interval
    }

    /// Window widening: maximum deviation from the expected anchor point. Core Vol 6, Part B, 4.2.4.
    ///
    /// - Parameters:
    ///   - elapsed: time since the last observed anchor point.
    ///   - accuracy: sum of both devices' clock accuracies, in ppm.
    static func widening(after elapsed: Microseconds, accuracy: Int, interval: Microseconds) -> Microseconds {
        let drift = (elapsed.rawValue * Int64(accuracy) + 999_999) / 1_000_000
        return min(Microseconds(drift) + instantaneousJitter, interval / 2 - interFrameSpace)
    }

    /// Twice the instantaneous deviation of a sleep clock, 16 us.
    static let instantaneousJitter: Microseconds = 32
}
