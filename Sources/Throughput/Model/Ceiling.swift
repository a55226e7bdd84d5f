import Packets

/// The most that notifications or write commands can carry over a link, and by which step of the way it is less than the air's own rate.
public struct Ceiling: Sendable, Hashable {
    /// How a peer fills its connection events beyond the common rule.
    public struct EventLimits: Sendable, Hashable {
        /// No more exchanges in one event.
        public var exchanges: Int?
        /// The central starts an exchange only if the longest reply would still fit.
        public var reservesLongestReply = false

        public init(exchanges: Int? = nil, reservesLongestReply: Bool = false) {
            self.exchanges = exchanges
            self.reservesLongestReply = reservesLongestReply
        }
    }

    /// kbit/s with exchanges back to back and no connection events.
    public let backToBack: Double
    /// kbit/s when each event holds whole exchanges only.
    public let perInterval: Double
    /// Link-layer packets with data in an event, on average.
    public let exchangesPerEvent: Double
    /// ATT packets completed in an event, on average.
    public let packetsPerEvent: Double
    /// After how many events the pattern of fragments repeats.
    public let cycleEvents: Int
    /// Link-layer packets that one ATT packet takes.
    public let fragmentsPerPacket: Int

    /// Of a link over BR/EDR: an SDU takes what stands for an event.
    public init(_ slots: SlotCeiling) {
        (backToBack, perInterval) = (slots.goodput, slots.goodput)
        exchangesPerEvent = Double(slots.packets.count)
        (packetsPerEvent, cycleEvents) = (1, 1)
        fragmentsPerPacket = slots.packets.count
    }

    /// - Parameter valueOctets: the value in each ATT packet; by default the longest the MTU allows.
    public init(_ link: LinkParameters, valueOctets: Int? = nil, limits: EventLimits = EventLimits()) {
        let value = valueOctets ?? link.valueOctets
        let train = link.fragments(valueOctets: value)
        let exchanges = train.map { link.exchange(payload: $0) }
        let bits = Double(value * 8)
        backToBack = bits * 1_000 / Double(exchanges.reduce(.zero, +).rawValue)
        fragmentsPerPacket = train.count

        let needed = limits.reservesLongestReply ? train.map { link.reservedExchange(payload: $0) } : exchanges
        let pattern = EventPattern(exchanges: exchanges, needed: needed, interval: link.interval, limit: limits.exchanges)
        cycleEvents = pattern.events
        exchangesPerEvent = Double(pattern.exchanges) / Double(pattern.events)
        packetsPerEvent = Double(pattern.packets) / Double(pattern.events)
        perInterval = Double(pattern.packets) * bits * 1_000 / (Double(pattern.events) * Double(link.interval.rawValue))
    }
}

/// How a train of exchanges falls into connection events in the steady state: fragments carry over from one event to the next.
private struct EventPattern {
    var events = 0
    var exchanges = 0
    var packets = 0

    /// - Parameter needed: the time that must be free for each exchange, which may be more than it takes.
    init(exchanges train: [Microseconds], needed: [Microseconds], interval: Microseconds, limit: Int?) {
        var seen: [Int?] = Array(repeating: nil, count: train.count)
        var history: [(exchanges: Int, packets: Int)] = [(0, 0)]
        var position = 0
        while seen[position] == nil {
            seen[position] = history.count - 1
            var (exchanges, packets) = history[history.count - 1]
            var clock = Microseconds.zero
            var inEvent = 0
            while inEvent == 0 || (clock + needed[position] <= interval && inEvent < limit ?? .max) {
                clock = clock + train[position]
                inEvent += 1
                position += 1
                if position == train.count {
                    position = 0
                    packets += 1
                }
            }
            exchanges += inEvent
            history.append((exchanges, packets))
        }
        let first = seen[position] ?? 0
        guard let last = history.last else { return }
        self.events = history.count - 1 - first
        self.exchanges = last.exchanges - history[first].exchanges
        self.packets = last.packets - history[first].packets
    }
}
