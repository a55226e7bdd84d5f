import Packets

/// The most that notifications or write commands can carry over a link, and by which step of the way it is less than the air's own rate.
public struct Ceiling: Sendable, Hashable {
    /// How a peer fills its connection events beyond the common rule.
    public struct EventLimits: Sendable, Hashable {
        /// No more exchanges in one event.
        public var exchanges: Int?
        /// Starts an exchange only if the longest reply would still fit: that reply's time on air.
        public var reservedReply: Microseconds?

        public init(exchanges: Int? = nil, reservedReply: Microseconds? = nil) {
            self.exchanges = exchanges
            self.reservedReply = reservedReply
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

    /// - Parameter valueOctets: the value in each ATT packet; by default the longest the MTU allows.
    public init(_ link: LinkParameters, valueOctets: Int? = nil, limits: EventLimits = EventLimits()) {
        let value = valueOctets ?? link.valueOctets
        let train = link.fragments(valueOctets: value)
        let exchanges = train.map { link.exchange(payload: $0) }
        let bits = Double(value * 8)
        backToBack = bits * 1_000 / Double(exchanges.reduce(.zero, +).rawValue)
        fragmentsPerPacket = train.count

        let reserve = limits.reservedReply.map { max(.zero, $0 - link.returnPHY.airTime(payload: 0)) } ?? .zero
        let pattern = EventPattern(exchanges: exchanges, interval: link.interval, reserve: reserve, limit: limits.exchanges)
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

    /// - Parameter reserve: time beyond the exchange that must be free too.
    init(exchanges train: [Microseconds], interval: Microseconds, reserve: Microseconds, limit: Int?) {
        var seen: [Int?] = Array(repeating: nil, count: train.count)
        var history: [(exchanges: Int, packets: Int)] = [(0, 0)]
        var position = 0
        while seen[position] == nil {
            seen[position] = history.count - 1
            var (exchanges, packets) = history[history.count - 1]
            var clock = Microseconds.zero
            var inEvent = 0
            while inEvent == 0 || (clock + train[position] + reserve <= interval && inEvent < limit ?? .max) {
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
