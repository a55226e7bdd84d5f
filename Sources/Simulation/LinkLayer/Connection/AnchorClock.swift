import Packets

/// Where the anchor points of a link lie, by its own sleep clock. Core Vol 6, Part B, 4.2.2 and 4.5.7.
struct AnchorClock {
    private(set) var base: Microseconds
    private(set) var baseEvent: Int
    private(set) var interval: Microseconds
    /// The error of the clock in parts per million.
    private let drift: Int64

    init(first: Microseconds, interval: Microseconds, drift: Int) {
        base = first
        baseEvent = 0
        self.interval = interval
        self.drift = Int64(drift)
    }

    /// The anchor of an event, as this clock expects it.
    func anchor(of event: Int) -> Microseconds {
        let span = interval.rawValue * Int64(event - baseEvent)
        return base + Microseconds(span + span * drift / 1_000_000)
    }

    /// Counts on from an anchor that is known.
    mutating func rebase(to anchor: Microseconds, event: Int) {
        base = anchor
        baseEvent = event
    }

    /// Takes a new interval into use from an event on, whose anchor moves by `offset`.
    mutating func change(interval: Microseconds, at event: Int, offset: Microseconds) {
        rebase(to: anchor(of: event) + offset, event: event)
        self.interval = interval
    }

    /// How far an anchor may lie from where it is expected. Core Vol 6, Part B, 4.2.4.
    ///
    /// - Parameters:
    ///   - elapsed: since the last anchor that was heard.
    ///   - accuracy: of both clocks together, in parts per million.
    static func widening(after elapsed: Microseconds, accuracy: Int, interval: Microseconds) -> Microseconds {
        let drift = (elapsed.rawValue * Int64(accuracy) + 999_999) / 1_000_000
        return min(Microseconds(drift) + instantaneousJitter, interval / 2 - interFrameSpace)
    }

    /// Twice the 16 us by which a sleep clock's instant may be off.
    static let instantaneousJitter: Microseconds = 32
}
