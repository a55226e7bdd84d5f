import BBCapture
import BBPackets
import BBTiming
import BBTransport

/// A host's pipe to a controller that reports every packet.
package final class TapTransport: HCITransport, HCITransportSink {
    package var name: String { inner.name }

    private let inner: any HCITransport
    private let loop: RunLoop
    private let report: (HCIPacket, CaptureDirection, Microseconds) -> Void
    private var sink: (any HCITransportSink)?

    package init(_ inner: any HCITransport, on loop: RunLoop, report: @escaping (HCIPacket, CaptureDirection, Microseconds) -> Void) {
        (self.inner, self.loop, self.report) = (inner, loop, report)
    }

    package func open(_ sink: any HCITransportSink) throws(TransportError) {
        self.sink = sink
        try inner.open(self)
    }

    package func send(_ packet: HCIPacket) {
        report(packet, .hostToController, loop.now)
        inner.send(packet)
    }

    package func close() {
        sink = nil
        inner.close()
    }

    package func received(_ packet: HCIPacket, at time: Microseconds) {
        report(packet, .controllerToHost, time)
        sink?.received(packet, at: time)
    }

    package func closed(_ reason: TransportError) {
        let sink = self.sink
        self.sink = nil
        sink?.closed(reason)
    }
}
