import BBPackets
import BBTiming
import BBTransport

/// Offers controllers over H4, each on its own listening socket. When a client leaves, the next one gets the controller with cleared state.
public final class H4DongleServer {
    /// Called on the loop for each event.
    public var onEvent: ((DongleEvent) -> Void)?
    /// Access token that clients must send; nil to accept all clients.
    public var token: AccessToken?

    private let backend: any DongleBackend
    private let loop: RunLoop
    private var listeners: [SocketListener] = []
    private var clients: [Int: H4Transport] = [:]
    /// Clients waiting for the current client to leave.
    private var waiting: [Int: (stream: ByteStream, timer: Timer)] = [:]
    /// Clients that have not sent the token, oldest first.
    private var gates: [TokenGate] = []
    /// Maximum length of `gates`.
    private static let mostGates = 64
    /// The time that a new client waits. A client that reconnects may meet its own old connection, whose end has not been noticed.
    private static let courtesy = Microseconds.milliseconds(250)

    public init(backend: any DongleBackend, on loop: RunLoop) {
        self.backend = backend
        self.loop = loop
    }

    /// Offers a controller; returns the address with the actual port if port 0 was given.
    ///
    /// - Throws: `busy` if the port is in use, `notPermitted`, `unreachable`.
    public func offer(_ controller: Int, at address: SocketAddress) throws(TransportError) -> SocketAddress {
        let listener = try SocketListener(address, on: loop)
        listeners.append(listener)
        listener.onImpediment = { [weak self] in self?.onEvent?(.failed(controller: controller, reason: $0)) }
        listener.start { [weak self] stream in self?.admit(stream, for: controller) }
        return listener.address
    }

    /// Disconnects all clients and stops listening.
    public func stop() {
        for listener in listeners { listener.stop() }
        listeners = []
        for gate in gates { gate.close() }
        gates = []
        for (stream, timer) in waiting.values {
            loop.cancel(timer)
            stream.close()
        }
        waiting = [:]
        let leaving = clients.sorted { $0.key < $1.key }
        clients = [:]
        for (_, end) in leaving { end.revoke() }
    }

    private func admit(_ stream: ByteStream, for controller: Int) {
        guard let token else { return accept(stream, for: controller) }
        makeRoomForGate()
        let gate = TokenGate(token, stream, on: loop)
        gates.append(gate)
        do throws(TransportError) {
            try gate.start { [weak self, weak gate] mayPass in
                self?.gates.removeAll { $0 === gate }
                guard let self, mayPass else {
                    stream.close()
                    self?.onEvent?(.failed(controller: controller, reason: "a client without the token was turned away"))
                    return
                }
                accept(stream, for: controller)
            }
        } catch {
            gates.removeAll { $0 === gate }
        }
    }

    /// Closes the oldest unauthenticated connection of the address that has the most, so that silent clients do not lock others out.
    private func makeRoomForGate() {
        guard gates.count >= Self.mostGates else { return }
        let counts = Dictionary(gates.map { ($0.peer, 1) }, uniquingKeysWith: +)
        guard let most = counts.values.max(), let index = gates.firstIndex(where: { counts[$0.peer] == most }) else { return }
        gates.remove(at: index).close()
    }

    private func accept(_ stream: ByteStream, for controller: Int) {
        guard clients[controller] != nil else { return attach(stream, to: controller) }
        guard waiting[controller] == nil else { return refuse(stream, controller) }
        let timer = loop.schedule(after: Self.courtesy) { [weak self] in
            guard let self, let late = waiting.removeValue(forKey: controller) else { return }
            refuse(late.stream, controller)
        }
        waiting[controller] = (stream, timer)
    }

    private func refuse(_ stream: ByteStream, _ controller: Int) {
        stream.close()
        onEvent?(.refused(controller: controller))
    }

    private func attach(_ stream: ByteStream, to controller: Int) {
        let end = H4Transport(stream)
        end.onEnd = { [weak self] reason in self?.free(controller, reason) }
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
        switch reason {
        case .desynchronised(let text): onEvent?(.failed(controller: controller, reason: text))
        case .overrun: onEvent?(.failed(controller: controller, reason: "its client was dropped: \(reason)"))
        default: onEvent?(.left(controller: controller, reason))
        }
        guard let next = waiting.removeValue(forKey: controller) else { return }
        loop.cancel(next.timer)
        // The closing of the old client's pipe is still in progress.
        loop.schedule(after: .zero) { [weak self] in self?.accept(next.stream, for: controller) }
    }
}
