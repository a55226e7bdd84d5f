import BBPackets
import BBTiming

/// A controller's pipe in the virtual time of a server, whose clock the loop follows: the client's end of `VirtualTimeServer`.
///
/// The loop belongs to this pipe: it stands still while the server has other work.
public final class VirtualTimeClient: HCITransport, TimeGate {
    private enum State {
        /// HELLO has been sent; WELCOME is awaited.
        case greeting
        case awake
        /// IDLE has been sent, until this time; TIME is awaited.
        case idle(until: Microseconds?, hasAsked: Bool)
        /// TIME has arrived; the loop moves to it.
        case woken(at: Microseconds)
        case ended
    }

    public let name: String
    private let loop: RunLoop
    private let stream: ByteStream
    private var framer = TimeFramer()
    private var state = State.greeting
    /// The server's time minus the loop's.
    private var offset = Microseconds.zero
    private var sink: (any HCITransportSink)?
    /// Packets that belong to the next TIME.
    private var arrived: [HCIPacket] = []
    /// Packets sent while the client was idle.
    private var unsent: [HCIPacket] = []
    private var arrivedOctets = 0
    /// Machine time at which WELCOME, or the TIME of the packets that have arrived, is overdue. A server that sends neither packets nor TIME
    /// may be waiting for others.
    private var limit: Microseconds?
    private static let timeout = Microseconds.seconds(120)
    /// The packets before one TIME.
    private static let mostPackets = 65_536
    private static let mostOctets = 16 << 20

    /// Connects and becomes the gate of the loop.
    ///
    /// - Parameters:
    ///   - clients: time stands still while the world has fewer clients.
    ///   - loop: a loop in virtual mode that watches descriptors.
    /// - Throws: `unreachable`, `notPermitted`.
    public init(_ address: SocketAddress, clients: UInt8 = 1, on loop: RunLoop) throws(TransportError) {
        self.loop = loop
        stream = try ByteStream.connect(to: address, on: loop)
        name = "\(address),virtual-time"
        stream.send(TimeMessage.hello(TimeHello()).octets)
        if clients > 1 { stream.send(TimeMessage.expect(clients: clients).octets) }
        limit = MonotonicClock.now() + Self.timeout
        loop.gate = self
    }

    deinit { close() }

    public func open(_ sink: any HCITransportSink) throws(TransportError) {
        self.sink = sink
        try stream.open(self)
    }

    public func send(_ packet: HCIPacket) {
        switch state {
        case .greeting, .awake: stream.send(packet.h4)
        case .idle, .woken: unsent.append(packet)
        case .ended: break
        }
    }

    /// Sends BYE; the loop's time then runs free.
    public func close() {
        sink = nil
        guard !isEnded else { return }
        stream.send(TimeMessage.bye.octets)
        leave()
    }

    private func leave() {
        state = .ended
        stream.close()
        if loop.gate === self { loop.gate = nil }
    }

    private var isEnded: Bool { if case .ended = state { true } else { false } }

    // MARK: Time

    public func settle(next: Microseconds?) -> TimeStep {
        if let limit, MonotonicClock.now() >= limit {
            end(.crashed("\(name) does not send the time"))
            return .again
        }
        switch state {
        case .ended: return .move(limit: .never)
        case .greeting: return .wait(until: limit)
        case .awake:
            stream.send(TimeMessage.idle(until: next.map { $0 + offset }).octets)
            state = .idle(until: next, hasAsked: false)
            return .wait(until: limit)
        case .idle(let until, let hasAsked):
            // Something outside of the world has happened since IDLE.
            guard !hasAsked, !unsent.isEmpty || (next ?? .never) < (until ?? .never) else { return .wait(until: limit) }
            stream.send(TimeMessage.wake.octets)
            state = .idle(until: until, hasAsked: true)
            return .wait(until: limit)
        case .woken(let time):
            if loop.now < time { return .move(limit: time) }
            state = .awake
            for packet in unsent { stream.send(packet.h4) }
            unsent = []
            let packets = arrived
            (arrived, arrivedOctets, limit) = ([], 0, nil)
            for packet in packets { sink?.received(packet, at: loop.now) }
            return .again
        }
    }

    private func take(_ message: TimeMessage) {
        switch (message, state) {
        case (.welcome(_, let now), .greeting):
            offset = now - loop.now
            (state, limit) = (.awake, nil)
        case (.time(let now), .idle): (state, limit) = (.woken(at: max(loop.now, now - offset)), nil)
        // A further connection of this client, which has none, would send it.
        case (.time, _), (.welcome, _): break
        case (.fault(let text), _): end(.crashed("virtual time has ended: \(text)"))
        case (.hello, _), (.idle, _), (.wake, _), (.bye, _), (.expect, _): end(.desynchronised("\(name) sent a message of a client"))
        }
    }

    private func take(_ packet: HCIPacket) {
        if arrived.isEmpty, limit == nil { limit = MonotonicClock.now() + Self.timeout }
        arrived.append(packet)
        arrivedOctets += packet.bytes.count
        guard arrived.count <= Self.mostPackets, arrivedOctets <= Self.mostOctets else {
            let most = "\(Self.mostPackets) packets or \(Self.mostOctets >> 20) MiB"
            return end(.desynchronised("\(name) sent more than \(most) without the time"))
        }
    }

    private func end(_ reason: TransportError) {
        guard !isEnded else { return }
        leave()
        let sink = sink
        self.sink = nil
        sink?.closed(reason)
    }
}

extension VirtualTimeClient: ByteStream.Sink {
    public func received(_ octets: UnsafeRawBufferPointer) {
        var rest = octets
        do {
            while !isEnded, let item = try framer.next(of: &rest) {
                switch item {
                case .packet(let packet): take(packet)
                case .message(let message): take(message)
                }
            }
        } catch {
            end(.desynchronised("\(name): \(error)"))
        }
    }

    public func ended(_ reason: TransportError) { end(reason) }
}
