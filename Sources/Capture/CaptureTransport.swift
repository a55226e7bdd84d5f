import BBPackets
import BBTiming
import BBTransport

/// A pipe that records its packets in a capture. Directions depend on which end it is, the host's or the controller's.
public final class CaptureTransport: HCITransport, HCITransportSink {
    public var name: String { inner.name }

    private let inner: any HCITransport
    private let log: CaptureLog
    private let interface: Int
    private let loop: RunLoop
    private let sent: CaptureDirection
    private let received: CaptureDirection
    private var sink: (any HCITransportSink)?

    /// Wraps a transport so that its packets are written to the log.
    ///
    /// - Parameter holder: the end that uses the transport; it decides which packets count as sent.
    public init(_ inner: any HCITransport, into log: CaptureLog, interface: Int, heldBy holder: Holder = .host, on loop: RunLoop) {
        self.inner = inner
        self.log = log
        self.interface = interface
        self.loop = loop
        sent = holder == .host ? .hostToController : .controllerToHost
        received = holder == .host ? .controllerToHost : .hostToController
    }

    public enum Holder: Sendable {
        case host
        case controller
    }

    public func open(_ sink: any HCITransportSink) throws(TransportError) {
        self.sink = sink
        try inner.open(self)
    }

    public func send(_ packet: HCIPacket) {
        log.record(packet, sent, interface: interface, at: loop.now)
        inner.send(packet)
    }

    public func close() {
        sink = nil
        inner.close()
    }

    public func received(_ packet: HCIPacket, at time: Microseconds) {
        log.record(packet, received, interface: interface, at: time)
        sink?.received(packet, at: time)
    }

    public func closed(_ reason: TransportError) {
        let sink = self.sink
        self.sink = nil
        sink?.closed(reason)
    }
}

extension HCITransport {
    /// The pipe with its packets recorded as a separate interface, if there is a capture.
    ///
    /// - Parameter name: name of the controller in the capture.
    public func captured(
        into log: CaptureLog?, as name: String, heldBy holder: CaptureTransport.Holder = .host, on loop: RunLoop
    ) throws(CaptureError) -> any HCITransport {
        guard let log else { return self }
        return CaptureTransport(self, into: log, interface: try log.addController(name), heldBy: holder, on: loop)
    }
}
