import Packets

/// Maximum throughput of write requests, indications or reads: one operation at a time, limited by the time of the response.
///
/// If the host responds at once, the response is sent in the event after the last packet of the request; each event of host latency adds
/// one.
public struct AcknowledgedCeiling: Sendable, Hashable {
    public let perInterval: Double
    /// Connection events from one request to the next.
    public let eventsPerOperation: Int

    /// - Parameter hostLatency: number of further events before the response of the host is ready.
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
