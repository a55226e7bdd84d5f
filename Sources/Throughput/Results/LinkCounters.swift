/// Counters of the sender's link layer and host during a measurement. For a dongle only the host's counters are available.
public struct LinkCounters: Sendable, Hashable {
    public var events = 0
    /// Exchanges in which the sender's packet contained data.
    public var exchanges = 0
    public var retransmissions = 0
    /// Events that ended because no further exchange fitted before the next anchor point.
    public var endedFull = 0
    /// Events that ended because neither device had more data.
    public var endedEmpty = 0
    /// Events that ended at the controller's configured maximum of exchanges.
    public var endedAtLimit = 0
    /// Events that ended because no reply, or two corrupted packets, arrived.
    public var endedSilent = 0

    public init() {}

    static func + (one: LinkCounters, other: LinkCounters) -> LinkCounters {
        var sum = LinkCounters()
        sum.events = one.events + other.events
        sum.exchanges = one.exchanges + other.exchanges
        sum.retransmissions = one.retransmissions + other.retransmissions
        sum.endedFull = one.endedFull + other.endedFull
        sum.endedEmpty = one.endedEmpty + other.endedEmpty
        sum.endedAtLimit = one.endedAtLimit + other.endedAtLimit
        sum.endedSilent = one.endedSilent + other.endedSilent
        return sum
    }

    public static func - (later: LinkCounters, earlier: LinkCounters) -> LinkCounters {
        var span = LinkCounters()
        span.events = later.events - earlier.events
        span.exchanges = later.exchanges - earlier.exchanges
        span.retransmissions = later.retransmissions - earlier.retransmissions
        span.endedFull = later.endedFull - earlier.endedFull
        span.endedEmpty = later.endedEmpty - earlier.endedEmpty
        span.endedAtLimit = later.endedAtLimit - earlier.endedAtLimit
        span.endedSilent = later.endedSilent - earlier.endedSilent
        return span
    }
}

/// States of the sending host's queue, sampled whenever more data was requested.
public struct SupplyCounters: Sendable, Hashable {
    /// Samples with waiting data and no free controller buffer.
    public var waitingForCredits = 0
    /// Refused SDUs of an L2CAP channel without credits, and all refused packets.
    public var refusedWithoutCredits = 0
    public var refused = 0
    /// Samples with empty queues in host and controller.
    public var ranDry = 0
    /// Maximum number of packets in the controller.
    public var mostInController = 0

    public init() {}

    /// Adds the samples of another sender on the same link.
    mutating func add(_ other: SupplyCounters) {
        waitingForCredits += other.waitingForCredits
        refusedWithoutCredits += other.refusedWithoutCredits
        refused += other.refused
        ranDry += other.ranDry
        mostInController = max(mostInController, other.mostInController)
    }
}
