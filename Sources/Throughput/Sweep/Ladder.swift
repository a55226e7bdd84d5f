import BBPackets

/// The ladder of WWDC 2017, session 712: each step adds one feature and is compared with the published figure.
///
/// The figures are those of a phone of that time. The rungs state its connection interval of 30 ms and its packets per event as
/// assumptions.
public struct LadderRung: Sendable, Hashable, Codable {
    public var name: String
    /// Published throughput in kbit/s.
    public var published: Double
    public var over: FlowKind
    public var valueOctets: Int
    public var dataLength: Int
    public var mtu: Int
    public var intervalMilliseconds: Double
    /// Exchanges per connection event; nil for as many as fit.
    public var exchangesPerEvent: Int?
    /// Delay of the responding host in connection events.
    public var hostLatencyEvents: Int
    public var note: String
    public var measured: Double?
    public var packetsPerEvent: Double?

    enum CodingKeys: String, CodingKey {
        case name, over, mtu, note
        case published = "published_kbps"
        case valueOctets = "value_octets"
        case dataLength = "data_length"
        case intervalMilliseconds = "interval_ms"
        case exchangesPerEvent = "exchanges_per_event"
        case hostLatencyEvents = "host_latency_events"
        case measured = "goodput_kbps"
        case packetsPerEvent = "packets_per_event"
    }

    public var request: ThroughputRow.Request {
        let interval = Microseconds(Int64(saturating: (intervalMilliseconds * 1_000).rounded()))
        guard over != .channel else {
            return ThroughputRow.Request(
                channel: .toSubject, phy: .le1M, dataLength: dataLength, sdu: valueOctets, interval: interval)
        }
        return ThroughputRow.Request(
            over: over, direction: .toSubject, phy: .le1M, dataLength: dataLength, mtu: mtu, interval: interval)
    }

    /// Eight K-frames with a payload of 247 octets, which fill link layer packets of 251.
    private static let channelSDU = 8 * 247 - 2

    public static let all: [LadderRung] = [
        LadderRung(
            name: "write with response", published: 2.5, over: .request, valueOctets: 20, dataLength: 27, mtu: 23, intervalMilliseconds: 30,
            exchangesPerEvent: nil, hostLatencyEvents: 0,
            note: "one write in two connection events, bounded by the hosts"),
        LadderRung(
            name: "write without response, packed", published: 37, over: .write, valueOctets: 20, dataLength: 27, mtu: 23,
            intervalMilliseconds: 30, exchangesPerEvent: 7, hostLatencyEvents: 0, note: "7 packets of 27 octets in an event"),
        LadderRung(
            name: "larger MTU", published: 48, over: .write, valueOctets: 182, dataLength: 27, mtu: 185, intervalMilliseconds: 30,
            exchangesPerEvent: 7, hostLatencyEvents: 0, note: "7 packets of 27 octets in an event, one header in seven packets"),
        LadderRung(
            name: "longer data length", published: 135, over: .write, valueOctets: 182, dataLength: 251, mtu: 185, intervalMilliseconds: 30,
            exchangesPerEvent: 3, hostLatencyEvents: 0, note: "3 packets of up to 251 octets in an event"),
        LadderRung(
            name: "L2CAP channel, longer data length", published: 197, over: .channel, valueOctets: channelSDU, dataLength: 251,
            mtu: channelSDU, intervalMilliseconds: 30, exchangesPerEvent: 3, hostLatencyEvents: 0,
            note: "3 full packets in an event; SDUs of eight K-frames"),
        LadderRung(
            name: "L2CAP channel, shorter interval", published: 394, over: .channel, valueOctets: channelSDU, dataLength: 251,
            mtu: channelSDU, intervalMilliseconds: 15, exchangesPerEvent: 3, hostLatencyEvents: 0,
            note: "3 full packets in an event; SDUs of eight K-frames"),
        LadderRung(
            name: "shorter interval, without an L2CAP channel", published: 394, over: .write, valueOctets: 244, dataLength: 251, mtu: 247,
            intervalMilliseconds: 15, exchangesPerEvent: 3, hostLatencyEvents: 0,
            note: "3 full packets; published for a channel"),
    ]
}
