import Packets

/// The most that write requests, indications or reads can carry: one operation at a time, bounded by when the answer can come.
///
/// With a host that answers at once the response leaves in the event after the request's last packet; each event of host latency adds one.
public struct AcknowledgedCeiling: Sendable, Hashable {
    public let perInterval: Double
    /// Connection events from one request to the next.
    public let eventsPerOperation: Int

    /// - Parameter hostLatency: how many further events pass before the answering host's response is ready.
    public init(_ link: LinkParameters, valueOctets: Int, hostLatency: Int = 0) {
        let exchanges = link.fragments(valueOctets: valueOctets).map { link.exchange(payload: $0) }
        var events = 1
        var clock = Microseconds.zero
        for exchange in exchanges {
            if clock > .zero, clock + exchange > link.interval {
                events += 1
                clock = .zero
            }
            clock = clock + exchange
        }
        eventsPerOperation = events + 1 + hostLatency
        perInterval = Double(valueOctets * 8_000) / Double(link.interval.rawValue * Int64(eventsPerOperation))
    }
}
