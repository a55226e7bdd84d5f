import Packets
import Timing
import Transport

/// Offers controllers over H4: one listening socket for each. A client that leaves frees its controller for the next, fresh.
public final class H4DongleServer {
    /// Told of what happens, on the loop.
    public var onEvent: ((DongleEvent) -> Void)?

    private let backend: any DongleBackend
    private let loop: RunLoop
    private var listeners: [SocketListener] = []
    private var clients: [Int: LeasedEnd] = [:]

    public init(backend: any DongleBackend, on loop: RunLoop) {
        self.backend = backend
        self.loop = loop
    }

    /// Offers a controller; returns the address, with the port that was chosen for port 0.
    ///
    /// - Throws: `busy` when somebody listens there, `notPermitted`, `unreachable`.
    public func offer(_ controller: Int, at address: SocketAddress) throws(TransportError) -> SocketAddress {
        let listener = try SocketListener(address, on: loop)
        listeners.append(listener)
        listener.start { [weak self] stream in self?.accept(stream, for: controller) }
        return listener.address
    }

    /// Ends every client and stops listening.
    public func stop() {
        for listener in listeners { listener.stop() }
        listeners = []
        let leaving = clients.sorted { $0.key < $1.key }
        clients = [:]
        for (_, end) in leaving { end.revoke() }
    }

    private func accept(_ stream: ByteStream, for controller: Int) {
        guard clients[controller] == nil else {
            stream.close()
            onEvent?(.refused(controller: controller))
            return
        }
        let end = LeasedEnd(H4Transport(stream)) { [weak self] reason in self?.free(controller, reason) }
        clients[controller] = end
        do {
            try backend.attach(controller, to: end)
            onEvent?(.attached(controller: controller))
        } catch {
            clients[controller] = nil
            end.revoke()
            onEvent?(.failed(controller: controller, reason: "\(error)"))
        }
    }

    private func free(_ controller: Int, _ reason: TransportError) {
        guard clients.removeValue(forKey: controller) != nil else { return }
        if case .desynchronised(let text) = reason {
            onEvent?(.failed(controller: controller, reason: text))
        } else {
            onEvent?(.left(controller: controller, reason))
        }
    }
}

/// A controller's end of a client's pipe, which tells the server when the pipe ends.
final class LeasedEnd: HCITransport, HCITransportSink {
    var name: String { inner.name }

    private let inner: any HCITransport
    private let onEnd: (TransportError) -> Void
    private var sink: (any HCITransportSink)?

    init(_ inner: any HCITransport, onEnd: @escaping (TransportError) -> Void) {
        self.inner = inner
        self.onEnd = onEnd
    }

    func open(_ sink: any HCITransportSink) throws(TransportError) {
        self.sink = sink
        try inner.open(self)
    }

    func send(_ packet: HCIPacket) { inner.send(packet) }

    func close() {
        sink = nil
        inner.close()
        onEnd(.lost(name))
    }

    /// Ends the pipe for both: the client sees it closed, the controller hears of it.
    func revoke() {
        inner.close()
        let sink = self.sink
        self.sink = nil
        sink?.closed(.lost(name))
    }

    func received(_ packet: HCIPacket, at time: Microseconds) { sink?.received(packet, at: time) }

    func closed(_ reason: TransportError) {
        let sink = self.sink
        self.sink = nil
        sink?.closed(reason)
        onEnd(reason)
    }
}
