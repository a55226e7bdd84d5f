/// What the sending side's link layer and host did during a measurement. A dongle tells none of it but what its host sees.
public struct LinkCounters: Sendable, Hashable {
    public var events = 0
    /// Exchanges in which the sender's packet carried data.
    public var exchanges = 0
    public var retransmissions = 0
    /// Events that ended because no further exchange fitted before the next anchor point.
    public var endedFull = 0
    /// Events that ended because nobody had more data.
    public var endedEmpty = 0
    /// Events that ended at the controller's own limit of exchanges.
    public var endedAtLimit = 0
    /// Events that ended because no answer, or two bad packets, came.
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

/// How the sending host's queue looked each time it was asked for more.
public struct SupplyCounters: Sendable, Hashable {
    /// The host had data waiting and the controller had no free buffer.
    public var waitingForCredits = 0
    /// Neither host nor controller held anything.
    public var ranDry = 0
    /// The most packets the controller was seen to hold.
    public var mostInController = 0

    public init() {}
}
