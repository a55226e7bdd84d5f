/// Statistics of a link, for reports.
public struct LinkStatistics: Sendable, Hashable {
    public internal(set) var events = 0
    public internal(set) var missedEvents = 0
    public internal(set) var exchanges = 0
    public internal(set) var dataPDUs = 0
    public internal(set) var retransmissions = 0
    public internal(set) var corruptPackets = 0
    /// Maximum number of exchanges in one event.
    public internal(set) var mostExchanges = 0
    /// Events that ended because no further exchange fitted before the next anchor point or another use of the radio.
    public internal(set) var endedFull = 0
    /// Events that ended because neither device had more data.
    public internal(set) var endedEmpty = 0
    /// Events that ended at the configured number of exchanges.
    public internal(set) var endedAtLimit = 0
    /// Events that ended because no reply, or two corrupted packets, arrived.
    public internal(set) var endedSilent = 0
}
