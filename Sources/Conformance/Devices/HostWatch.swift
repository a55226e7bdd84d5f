import Packets
import Timing
import Transport

/// Knows whether a foreign host is at a port, and ends a case that it leaves.
final class HostWatch {
    private(set) var hosts = 0
    private let port: () -> String
    /// What a case observes.
    weak var log: ObservationLog?

    /// - Parameter port: the port, in words.
    init(port: @escaping () -> String) {
        self.port = port
    }

    /// Why no case can run now.
    var absence: StepFailure? {
        hosts > 0 ? nil : StepFailure(.environment, "the accessory's host has left \(port()); it must connect again for further cases")
    }

    /// The pipe of a host that has come.
    func watching(_ pipe: any HCITransport) -> any HCITransport {
        hosts += 1
        return WatchedPipe(pipe) { [weak self] in self?.left() }
    }

    private func left() {
        hosts -= 1
        log?.breakOff(StepFailure(.environment, "the accessory's host left \(port()) during the case"))
    }

    /// Passes everything on and tells when the far end is gone.
    private final class WatchedPipe: HCITransport, HCITransportSink {
        var name: String { inner.name }
        private let inner: any HCITransport
        private let onEnd: () -> Void
        private var sink: (any HCITransportSink)?

        init(_ inner: any HCITransport, onEnd: @escaping () -> Void) {
            self.inner = inner
            self.onEnd = onEnd
        }

        func open(_ sink: any HCITransportSink) throws(TransportError) {
            self.sink = sink
            try inner.open(self)
        }

        func send(_ packet: HCIPacket) { inner.send(packet) }
        func close() { inner.close() }
        func received(_ packet: HCIPacket, at time: Microseconds) { sink?.received(packet, at: time) }

        func closed(_ reason: TransportError) {
            onEnd()
            sink?.closed(reason)
        }
    }
}
