import Packets

/// What it cost to put packets in order that two pipes of a device had brought out of order.
public struct ReorderingStatistics: Sendable, Equatable {
    /// Packets that waited for their event.
    public var held = 0
    /// The longest wait of a packet that was delivered in the end.
    public var worstWait = Microseconds.zero
    /// Packets that waited in vain.
    public var dropped = 0

    public init(held: Int = 0, worstWait: Microseconds = .zero, dropped: Int = 0) {
        self.held = held
        self.worstWait = worstWait
        self.dropped = dropped
    }

    public mutating func add(_ other: ReorderingStatistics) {
        held += other.held
        worstWait = max(worstWait, other.worstWait)
        dropped += other.dropped
    }
}

/// How a device came to answer, for the people who run the bench.
public struct PipeStart: Sendable, Equatable {
    /// What it took, in words.
    public var step: String
    /// Packets of the past that were thrown away.
    public var discarded: Int

    public init(step: String, discarded: Int) {
        self.step = step
        self.discarded = discarded
    }
}
