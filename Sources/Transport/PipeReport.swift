import BBPackets

/// Statistics of reordering packets that arrived out of order on the two pipes of a device.
public struct ReorderingStatistics: Sendable, Equatable {
    /// Number of packets held until their event arrived.
    public var held = 0
    /// Longest wait of a delivered packet.
    public var worstWait = Microseconds.zero
    /// Number of packets dropped after waiting.
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

/// Start-up of a device, for display.
public struct PipeStart: Sendable, Equatable {
    /// The start-up steps as text.
    public var step: String
    /// Number of stale packets discarded.
    public var discarded: Int
    /// The mode of a device that has several, with the reason for it; otherwise nil.
    public var mode: String?

    public init(step: String, discarded: Int, mode: String? = nil) {
        self.step = step
        self.discarded = discarded
        self.mode = mode
    }
}
