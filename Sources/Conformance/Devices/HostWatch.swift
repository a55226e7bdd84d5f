import BBPackets
import BBTiming
import BBTransport

/// Monitors the foreign host at a port, and ends a case when the host leaves.
final class HostWatch {
    private(set) var hosts = 0
    private let port: () -> String
    /// The log of the running case.
    weak var log: ObservationLog?

    /// - Parameter port: a description of the port.
    init(port: @escaping () -> String) {
        self.port = port
    }

    /// The reason why no case can run now.
    var absence: StepFailure? {
        hosts > 0 ? nil : StepFailure(.environment, "the accessory's host has left \(port()); it must connect again for further cases")
    }

    /// Returns a monitored transport to a host that has connected.
    func watching(_ pipe: any HCITransport) -> any HCITransport {
        hosts += 1
        return WatchedPipe(pipe) { [weak self] in self?.left() }
    }

    private func left() {
        hosts -= 1
        log?.breakOff(StepFailure(.environment, "the accessory's host left \(port()) during the case"))
    }

    /// Forwards all packets and reports the end of the far side.
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
