import BBPackets

/// Maximum throughput of notifications, write commands or SDUs on a link, with the factors that reduce it below the rate of the PHY.
public struct Ceiling: Sendable, Hashable {
    /// Limits of a peer's connection events besides the common rule.
    public struct EventLimits: Sendable, Hashable {
        /// Maximum number of exchanges per event.
        public var exchanges: Int?
        /// The central starts an exchange only if the longest reply would fit.
        public var reservesLongestReply = false
        /// Number of links with evenly spaced anchor points: an event ends before the next anchor point of any link.
        public var links = 1

        public init(exchanges: Int? = nil, reservesLongestReply: Bool = false, links: Int = 1) {
            self.exchanges = exchanges
            self.reservesLongestReply = reservesLongestReply
            self.links = links
        }
    }

    /// kbit/s with back-to-back exchanges and no connection events.
    public let backToBack: Double
    /// kbit/s if each event contains complete exchanges only.
    public let perInterval: Double
    /// Average number of link layer packets with data per event.
    public let exchangesPerEvent: Double
    /// Average number of ATT packets or SDUs completed per event.
    public let packetsPerEvent: Double
    /// Number of events after which the pattern of fragments repeats.
    public let cycleEvents: Int
    /// Number of link layer packets per ATT packet or SDU.
    public let fragmentsPerPacket: Int

    /// Ceiling of a link without connection events: an SDU is in place of one.
    ///
    /// - Parameters:
    ///   - goodput: kbit/s.
    ///   - packets: packets of an SDU.
    public init(goodput: Double, packets: Int) {
        (backToBack, perInterval) = (goodput, goodput)
        exchangesPerEvent = Double(packets)
        (packetsPerEvent, cycleEvents) = (1, 1)
        fragmentsPerPacket = packets
    }

    /// - Parameters:
    ///   - valueOctets: value length of each ATT packet; nil for the maximum of the MTU.
    ///   - replies: link layer payloads of concurrent packets in the opposite direction, in order. The pairing of fragments is random; the
    ///     ceiling assumes the best one.
    public init(_ link: LinkParameters, valueOctets: Int? = nil, limits: EventLimits = EventLimits(), replies: [Int] = []) {
        let value = valueOctets ?? link.valueOctets
        let fragments = link.fragments(valueOctets: value)
        func meeting(_ offset: Int) -> Ceiling {
            Ceiling(link, value, fragments.count, Self.turn(fragments, Array(replies[offset...] + replies[..<offset])), limits)
        }
        self = replies.indices.dropFirst().map(meeting).reduce(meeting(0)) { $1.perInterval > $0.perInterval ? $1 : $0 }
    }

    /// - Parameter turn: one period of both directions' packets.
    private init(_ link: LinkParameters, _ value: Int, _ fragments: Int, _ turn: [(data: Int, reply: Int)], _ limits: EventLimits) {
        // One SDU of each channel.
        let packets = link.channels?.count ?? 1
        fragmentsPerPacket = fragments / packets
        let exchanges = turn.map { link.exchange(payload: $0.data, reply: $0.reply) }
        let bits = Double(value * 8 * packets * turn.count / fragments)
        backToBack = bits * 1_000 / Double(exchanges.reduce(.zero, +).rawValue)

        let needed = limits.reservesLongestReply ? turn.map { link.reservedExchange(payload: $0.data, reply: $0.reply) } : exchanges
        let pattern = EventPattern(
            exchanges: exchanges, needed: needed, window: link.interval / max(1, limits.links), limit: limits.exchanges)
        cycleEvents = pattern.events
        exchangesPerEvent = Double(pattern.exchanges) / Double(pattern.events)
        packetsPerEvent = Double(pattern.turns * packets * turn.count / fragments) / Double(pattern.events)
        // In another order K-frames may fill the interval better.
        let isRegular = link.channels?.isRegular ?? true
        perInterval =
            isRegular ? Double(pattern.turns) * bits * 1_000 / (Double(pattern.events) * Double(link.interval.rawValue)) : backToBack
    }

    /// Maximum throughput of concurrent flows.
    ///
    /// - Parameters:
    ///   - flows: flows of one link.
    ///   - links: number of links with such flows on one radio. Together they carry no more than one link, or no more than back to back if
    ///     packets are fragmented, since one link's fragments may fill gaps of another.
    public init(together flows: [Ceiling], links: Int) {
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

/// Distribution of exchanges over connection events in the steady state: fragments carry over to the next event.
private struct EventPattern {
    var events = 0
    var exchanges = 0
    /// Periods of the whole pattern.
    var turns = 0

    /// - Parameters:
    ///   - needed: free time required for each exchange, which may exceed its duration.
    ///   - window: time from the anchor point to the end of the event.
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
