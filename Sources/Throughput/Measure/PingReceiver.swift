import BBPackets
import BBTiming

/// Receives the notification requested by each ping.
final class PingReceiver {
    private let loop: RunLoop
    private var awaited: (octets: Int, arrival: Promise<Microseconds>)?

    init(_ loop: RunLoop) { self.loop = loop }

    /// Arrival time of the next notification; fails if its content is not the requested one.
    func expect(octets: Int) -> Promise<Microseconds> {
        let arrival = Promise<Microseconds>(on: loop)
        awaited = (octets, arrival)
        return arrival
    }

    func receive(_ packet: RawSpan, at now: Microseconds) {
        guard let (octets, arrival) = awaited else { return }
        awaited = nil
        guard FlowPacket.sequence(of: packet) == 0, packet.byteCount == octets else {
            return arrival.fail(MeasurementFailure("a notification of \(packet.byteCount) octets came that is not the one asked for"))
        }
        arrival.fulfil(now)
    }
}
