import Packets
import Timing

/// Takes the one notification that each ping asks for.
final class PingReceiver {
    private let loop: RunLoop
    private var awaited: (octets: Int, arrival: Promise<Microseconds>)?

    init(_ loop: RunLoop) { self.loop = loop }

    /// Tells when the next notification came; it fails when that is not what was asked for.
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
