import BBPackets
import BBTiming

/// Serves controllers to foreign hosts that share the loop's virtual time: one socket for each controller, `SharedClock` in between.
public final class VirtualTimeServer: TimeGate {
    /// Events of a server, reported on the loop.
    public enum Event: Equatable {
        case attached(port: Int)
        case left(port: Int)
        /// A client was refused; the others continue.
        case refused(port: Int, reason: String)
        /// The run has ended, with the reason.
        case fault(String)
    }

    public var onEvent: ((Event) -> Void)?
    /// Called before a client is woken: time stands still from then until it is idle.
    public var onStandstill: (() -> Void)?
    /// Addresses of the ports.
    public private(set) var addresses: [SocketAddress] = []
    /// Reason for the end of the run.
    public private(set) var fault: String?

    private let loop: RunLoop
    private let attach: (Int, any HCITransport) throws -> Void
    private var clock: SharedClock
    private var listeners: [SocketListener] = []
    private var members: [Int: TimeConnection] = [:]
    private var pipes: [Int: ControllerEnd] = [:]
    /// Connections without HELLO.
    private var strangers: [TimeConnection] = []
    /// Fulfilled when the first controller is attached.
    private let arrival: Promise<Void>
    /// Machine time at which the wait for `arrival` ends, and the message for that case.
    private var arrivalLimit: (time: Microseconds, text: String)?
    private static let mostStrangers = 16

    /// Listens on the addresses and becomes the gate of the loop.
    ///
    /// - Parameters:
    ///   - loop: a loop in virtual mode that watches descriptors.
    ///   - outlivesClients: lets time go on after the last client has left.
    ///   - attach: starts a fresh controller on the controller's end of a pipe.
    /// - Throws: `unreachable` for an address that other machines can reach; otherwise as `SocketListener`.
    public init(
        _ wanted: [SocketAddress], on loop: RunLoop, limits: VirtualTimeLimits = VirtualTimeLimits(), outlivesClients: Bool = false,
        attach: @escaping (Int, any HCITransport) throws -> Void
    ) throws(TransportError) {
        self.loop = loop
        self.attach = attach
        clock = SharedClock(ports: [])
        arrival = Promise(on: loop)
        for address in wanted {
            guard address.isLocal else { throw .unreachable("\(address): virtual time is shared on this machine only") }
            listeners.append(try SocketListener(address, on: loop))
        }
        addresses = listeners.map(\.address)
        clock = SharedClock(ports: addresses.map(\.description), limits: limits, outlivesClients: outlivesClients)
        for (port, listener) in listeners.enumerated() { listener.start { [weak self] in self?.accept($0, at: port) } }
        loop.gate = self
    }

    /// Closes all connections and stops listening.
    public func stop() {
        for listener in listeners { listener.stop() }
        for connection in strangers + members.values { connection.close() }
        (listeners, strangers, members, pipes) = ([], [], [:], [:])
        if loop.gate === self { loop.gate = nil }
        arrival.fail(CancellationError())
    }

    /// Waits until the first controller has its host. Virtual time stands still meanwhile, so the limit is machine time.
    ///
    /// - Parameter role: role of the host, for the message of a timeout.
    public func waitForClient(as role: String, within timeOut: Microseconds) async throws {
        let text = "\(role): no host connected to \(addresses.map(\.description).joined(separator: ", ")) within \(timeOut.seconds) s"
        arrivalLimit = (MonotonicClock.now() + timeOut, text)
        defer { arrivalLimit = nil }
        try await arrival.value()
    }

    // MARK: Connections

    private func accept(_ stream: ByteStream, at port: Int) {
        if strangers.count >= Self.mostStrangers { strangers.removeFirst().close() }
        let connection = TimeConnection(stream, port)
        strangers.append(connection)
        connection.onItem = { [weak self, unowned connection] in self?.take($0, from: connection) }
        connection.onEnd = { [weak self, unowned connection] in self?.ended(connection, $0) }
        do { try connection.start() } catch { strangers.removeAll { $0 === connection } }
    }

    private func take(_ item: TimeFramer.Item, from connection: TimeConnection) {
        let port = connection.port
        if members[port] === connection {
            switch item {
            case .packet(let packet): perform(clock.received(packet, on: port))
            case .message(let message): perform(clock.received(message, on: port, at: loop.now))
            }
            return
        }
        guard fault == nil else { return connection.close() }
        guard case .message(.hello(let hello)) = item else {
            return refuse(connection, "a client that does not say hello was turned away: this controller is in virtual time")
        }
        guard members[port] == nil else { return refuse(connection, "a second client was turned away") }
        strangers.removeAll { $0 === connection }
        members[port] = connection
        perform(clock.greeted(port, hello, at: loop.now))
    }

    private func refuse(_ connection: TimeConnection, _ reason: String) {
        strangers.removeAll { $0 === connection }
        connection.send(TimeMessage.fault(reason).octets)
        connection.close()
        onEvent?(.refused(port: connection.port, reason: reason))
    }

    private func ended(_ connection: TimeConnection, _ reason: String) {
        guard members[connection.port] === connection else { return strangers.removeAll { $0 === connection } }
        members[connection.port] = nil
        perform(clock.lost(connection.port, because: reason))
    }

    // MARK: Time

    public func settle(next: Microseconds?) -> TimeStep {
        var actions: [SharedClock.Action] = []
        let step = clock.settle(now: loop.now, next: next, machine: MonotonicClock.now(), &actions)
        perform(actions)
        guard let arrivalLimit, case .wait(let until) = step else { return step }
        guard MonotonicClock.now() < arrivalLimit.time else {
            arrival.fail(TransportError.unreachable(arrivalLimit.text))
            return .again
        }
        return .wait(until: min(until ?? .never, arrivalLimit.time))
    }

    private func perform(_ actions: [SharedClock.Action]) {
        if actions.contains(where: \.wakes) { onStandstill?() }
        for action in actions {
            switch action {
            case .tell(let port, let message): members[port]?.send(message.octets)
            case .pass(let port, let packet): members[port]?.send(packet.h4)
            case .attach(let port): bringUp(port)
            case .inject(let port, let packet): pipes[port]?.deliver(packet, at: loop.now)
            case .detach(let port):
                pipes.removeValue(forKey: port)?.end(.lost("\(addresses[port])"))
                onEvent?(.left(port: port))
            case .hangUp(let port): members.removeValue(forKey: port)?.close()
            case .refuse(let port, let text): if let connection = members.removeValue(forKey: port) { refuse(connection, text) }
            case .fail(let text): fail(text)
            }
        }
    }

    private func bringUp(_ port: Int) {
        let end = ControllerEnd(name: "\(addresses[port])") { [weak self] in self?.clock.sent($0, on: port) }
        pipes[port] = end
        do {
            try attach(port, end)
            arrival.fulfil(())
            onEvent?(.attached(port: port))
        } catch {
            fail("the controller at \(addresses[port]) cannot be brought up: \(error)")
        }
    }

    private func fail(_ text: String) {
        fault = text
        for connection in strangers + members.values {
            connection.send(TimeMessage.fault(text).octets)
            connection.close()
        }
        (strangers, members) = ([], [:])
        let open = pipes.sorted { $0.key < $1.key }
        pipes = [:]
        for (_, end) in open { end.end(.crashed(text)) }
        arrival.fail(TransportError.crashed(text))
        onEvent?(.fault(text))
    }
}

extension SharedClock.Action {
    /// True for the message with which a client is awake.
    fileprivate var wakes: Bool { if case .tell(_, .time) = self { true } else { false } }
}

/// The stream of one client's connection, cut into packets and messages.
private final class TimeConnection: ByteStream.Sink {
    let port: Int
    var onItem: ((TimeFramer.Item) -> Void)?
    /// Called with the reason for the end, as the predicate of a sentence about the client.
    var onEnd: ((String) -> Void)?
    private let stream: ByteStream
    private var framer = TimeFramer()
    private var queue: [UInt8] = []

    init(_ stream: ByteStream, _ port: Int) {
        (self.stream, self.port) = (stream, port)
    }

    deinit { stream.close() }

    func start() throws(TransportError) { try stream.open(self) }
    func send(_ octets: [UInt8]) { stream.send(octets) }

    func close() {
        (onItem, onEnd) = (nil, nil)
        stream.close()
    }

    func received(_ octets: UnsafeRawBufferPointer) {
        // An item may end the connection and release this object.
        withExtendedLifetime(self) {
            var rest = octets
            do {
                while let onItem, let item = try framer.next(of: &rest) { onItem(item) }
            } catch {
                end("broke the protocol: \(error)")
            }
        }
    }

    func ended(_ reason: TransportError) {
        if case .overrun = reason { return end("does not read what it is sent") }
        end("closed the connection without BYE")
    }

    private func end(_ reason: String) {
        let onEnd = onEnd
        close()
        onEnd?(reason)
    }
}

/// The controller's end of a client's pipe.
private final class ControllerEnd: HCITransport {
    let name: String
    private let onSend: (HCIPacket) -> Void
    private var sink: (any HCITransportSink)?

    init(name: String, onSend: @escaping (HCIPacket) -> Void) {
        (self.name, self.onSend) = (name, onSend)
    }

    func open(_ sink: any HCITransportSink) { self.sink = sink }
    func send(_ packet: HCIPacket) { onSend(packet) }
    func close() { sink = nil }
    func deliver(_ packet: HCIPacket, at time: Microseconds) { sink?.received(packet, at: time) }

    func end(_ reason: TransportError) {
        let sink = sink
        self.sink = nil
        sink?.closed(reason)
    }
}

extension SocketAddress {
    /// True if only programs on this machine can reach it.
    public var isLocal: Bool {
        switch self {
        case .unix: true
        case .tcp(let host, _): host == "localhost" || host == "::1" || host.hasPrefix("127.")
        }
    }
}
