import Packets

/// The most that notifications or write commands can carry over a link, and by which step of the way it is less than the air's own rate.
public struct Ceiling: Sendable, Hashable {
    /// How a peer fills its connection events beyond the common rule.
    public struct EventLimits: Sendable, Hashable {
        /// No more exchanges in one event.
        public var exchanges: Int?
        /// The central starts an exchange only if the longest reply would still fit.
        public var reservesLongestReply = false
        /// Links whose anchor points are spread evenly over the interval: an event ends by the next anchor point of any.
        public var links = 1

        public init(exchanges: Int? = nil, reservesLongestReply: Bool = false, links: Int = 1) {
            self.exchanges = exchanges
            self.reservesLongestReply = reservesLongestReply
            self.links = links
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

    /// - Parameters:
    ///   - valueOctets: the value in each ATT packet; by default the longest the MTU allows.
    ///   - replies: the link-layer payloads of the other direction's packets, in order, where data go both ways at once. Which fragment meets which
    ///     is chance: the ceiling is that of the best way to meet.
    public init(_ link: LinkParameters, valueOctets: Int? = nil, limits: EventLimits = EventLimits(), replies: [Int] = []) {
        let value = valueOctets ?? link.valueOctets
        let fragments = link.fragments(valueOctets: value)
        func meeting(_ offset: Int) -> Ceiling {
            Ceiling(link, value, fragments.count, Self.turn(fragments, Array(replies[offset...] + replies[..<offset])), limits)
        }
        self = replies.indices.dropFirst().map(meeting).reduce(meeting(0)) { $1.perInterval > $0.perInterval ? $1 : $0 }
    }

    /// - Parameter turn: one turn of both directions' trains.
    private init(_ link: LinkParameters, _ value: Int, _ fragments: Int, _ turn: [(data: Int, reply: Int)], _ limits: EventLimits) {
        fragmentsPerPacket = fragments
        let exchanges = turn.map { link.exchange(payload: $0.data, reply: $0.reply) }
        let bits = Double(value * 8 * turn.count / fragments)
        backToBack = bits * 1_000 / Double(exchanges.reduce(.zero, +).rawValue)

        let needed = limits.reservesLongestReply ? turn.map { link.reservedExchange(payload: $0.data, reply: $0.reply) } : exchanges
        let pattern = EventPattern(
            exchanges: exchanges, needed: needed, window: link.interval / max(1, limits.links), limit: limits.exchanges)
        cycleEvents = pattern.events
        exchangesPerEvent = Double(pattern.exchanges) / Double(pattern.events)
        packetsPerEvent = Double(pattern.turns * turn.count / fragments) / Double(pattern.events)
        perInterval = Double(pattern.turns) * bits * 1_000 / (Double(pattern.events) * Double(link.interval.rawValue))
    }

    /// What flows at once can carry together.
    ///
    /// - Parameters:
    ///   - flows: those of one link.
    ///   - links: links with such flows on one radio: together no more than one, and no more than back to back where packets are fragmented, as one link's
    ///     fragments may fill what another leaves.
    init(together flows: [Ceiling], links: Int) {
        func sum(_ value: (Ceiling) -> Double) -> Double { flows.reduce(0) { $0 + value($1) } }
        backToBack = sum(\.backToBack)
        perInterval = links > 1 && flows.contains { $0.fragmentsPerPacket > 1 } ? backToBack : sum(\.perInterval)
        (exchangesPerEvent, packetsPerEvent) = (sum(\.exchangesPerEvent), sum(\.packetsPerEvent))
        cycleEvents = flows.map(\.cycleEvents).max() ?? 1
        fragmentsPerPacket = flows.map(\.fragmentsPerPacket).max() ?? 1
    }

    private static func turn(_ data: [Int], _ replies: [Int]) -> [(data: Int, reply: Int)] {
        var (divisor, rest) = (max(1, replies.count), data.count)
        while rest != 0 { (divisor, rest) = (rest, divisor % rest) }
        let count = data.count / divisor * max(1, replies.count)
        return (0..<count).map { (data[$0 % data.count], replies.isEmpty ? 0 : replies[$0 % replies.count]) }
    }
}

/// How a train of exchanges falls into connection events in the steady state: fragments carry over from one event to the next.
private struct EventPattern {
    var events = 0
    var exchanges = 0
    /// Of the whole train.
    var turns = 0

    /// - Parameters:
    ///   - needed: the time that must be free for each exchange, which may be more than it takes.
    ///   - window: from the anchor point to where the event must end.
    init(exchanges train: [Microseconds], needed: [Microseconds], window: Microseconds, limit: Int?) {
        var seen: [Int?] = Array(repeating: nil, count: train.count)
        var history: [(exchanges: Int, turns: Int)] = [(0, 0)]
        var position = 0
        while seen[position] == nil {
            seen[position] = history.count - 1
            var (exchanges, turns) = history[history.count - 1]
            var clock = Microseconds.zero
            var inEvent = 0
            while inEvent == 0 || (clock + needed[position] <= window && inEvent < limit ?? .max) {
                clock = clock + train[position]
                inEvent += 1
                position += 1
                if position == train.count {
                    position = 0
                    turns += 1
                }
            }
            exchanges += inEvent
            history.append((exchanges, turns))
        }
        let first = seen[position] ?? 0
        guard let last = history.last else { return }
        self.events = history.count - 1 - first
        self.exchanges = last.exchanges - history[first].exchanges
        self.turns = last.turns - history[first].turns
    }
}
