import BBPackets
import BBTiming
import DequeModule

/// One end of a pipe within the process. Packets are delivered in order after the latency, never within `send(_:)`.
public final class InProcessTransport: HCITransport {
    public let name: String
    private let loop: RunLoop
    private let latency: Microseconds
    /// Unowned: an end unregisters itself before it is released, and a weak reference would slow down every packet.
    private unowned var other: InProcessTransport?
    private var sink: (any HCITransportSink)?
    private var inbox = Deque<HCIPacket>()
    /// Delivery time of each packet.
    private var dues = Deque<Microseconds>()
    /// Delivers due packets; set by `open`.
    private var delivery: Timer?
    private var isClosed = false

    private init(name: String, loop: RunLoop, latency: Microseconds) {
        self.name = name
        self.loop = loop
        self.latency = latency
    }

    /// Creates a pipe and returns its two ends.
    ///
    /// - Parameter latency: delivery time of each packet.
    public static func pair(name: String = "virtual", on loop: RunLoop, latency: Microseconds = .zero) -> (
        host: InProcessTransport, controller: InProcessTransport
    ) {
        let host = InProcessTransport(name: name, loop: loop, latency: latency)
        let controller = InProcessTransport(name: name, loop: loop, latency: latency)
        host.other = controller
        controller.other = host
        return (host, controller)
    }

    deinit {
        other?.other = nil
        if let delivery { loop.discard(delivery) }
    }

    public func open(_ sink: any HCITransportSink) throws(TransportError) {
        guard !isClosed else { throw .lost(name) }
        self.sink = sink
        if delivery == nil { delivery = loop.keep { [unowned self] in deliver() } }
        scheduleDelivery()
    }

    public func send(_ packet: HCIPacket) {
        guard !isClosed, let other else { return }
        other.inbox.append(packet)
        other.dues.append(loop.now + latency)
        other.scheduleDelivery()
    }

    public func close() {
        guard !isClosed else { return }
        isClosed = true
        sink = nil
        inbox.removeAll()
        dues.removeAll()
        guard let other else { return }
        loop.schedule(after: latency) { other.closeFromFarEnd() }
    }

    private func closeFromFarEnd() {
        guard !isClosed else { return }
        deliverAll()
        isClosed = true
        let sink = self.sink
        self.sink = nil
        sink?.closed(.lost(name))
    }

    private func scheduleDelivery() {
        guard sink != nil, let due = dues.first, let delivery, !loop.isSet(delivery) else { return }
        loop.set(delivery, at: due)
    }

    private func deliver() {
        while let sink, let due = dues.first, due <= loop.now {
            dues.removeFirst()
            sink.received(inbox.removeFirst(), at: due)
        }
        scheduleDelivery()
    }

    private func deliverAll() {
        dues.removeAll()
        while let sink, let packet = inbox.popFirst() { sink.received(packet, at: loop.now) }
    }
}
