/// What a link has done, for reports.
public struct LinkStatistics: Sendable, Hashable {
    public internal(set) var events = 0
    public internal(set) var missedEvents = 0
    public internal(set) var exchanges = 0
    public internal(set) var dataPDUs = 0
    public internal(set) var retransmissions = 0
    public internal(set) var corruptPackets = 0
    /// Exchanges of the fullest event.
    public internal(set) var mostExchanges = 0
    /// Events that ended because no further exchange fitted before the next anchor point, or before another use of the radio.
    public internal(set) var endedFull = 0
    /// Events that ended because neither side had more data.
    public internal(set) var endedEmpty = 0
    /// Events that ended at the configured number of exchanges.
    public internal(set) var endedAtLimit = 0
    /// Events that ended because no answer, or two bad packets, came.
    public internal(set) var endedSilent = 0
}
