import DequeModule
import Packets
import Timing

/// One end of a pipe within the process. Packets cross in order after the pipe's latency, never within `send(_:)`.
public final class InProcessTransport: HCITransport {
    public let name: String
    private let loop: RunLoop
    private let latency: Microseconds
    /// Unowned, as an end that goes takes itself out: a weak reference would slow every packet down.
    private unowned var other: InProcessTransport?
    private var sink: (any HCITransportSink)?
    private var inbox = Deque<(packet: HCIPacket, due: Microseconds)>()
    private var isDelivering = false
    private var isClosed = false

    private init(name: String, loop: RunLoop, latency: Microseconds) {
        self.name = name
        self.loop = loop
        self.latency = latency
    }

    /// Makes a pipe and returns its two ends.
    ///
    /// - Parameter latency: how long each packet takes to cross.
    public static func pair(name: String = "virtual", on loop: RunLoop, latency: Microseconds = .zero) -> (
        host: InProcessTransport, controller: InProcessTransport
    ) {
        let host = InProcessTransport(name: name, loop: loop, latency: latency)
        let controller = InProcessTransport(name: name, loop: loop, latency: latency)
        host.other = controller
        controller.other = host
        return (host, controller)
    }

    deinit { other?.other = nil }

    public func open(_ sink: any HCITransportSink) throws(TransportError) {
        guard !isClosed else { throw .lost(name) }
        self.sink = sink
        scheduleDelivery()
    }

    public func send(_ packet: HCIPacket) {
        guard !isClosed, let other else { return }
        other.inbox.append((packet, loop.now + latency))
        other.scheduleDelivery()
    }

    public func close() {
        guard !isClosed else { return }
        isClosed = true
        sink = nil
        inbox.removeAll()
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
        guard sink != nil, !isDelivering, let first = inbox.first else { return }
        isDelivering = true
        loop.schedule(at: first.due) { [self] in
            isDelivering = false
            deliverDue()
            scheduleDelivery()
        }
    }

    private func deliverDue() {
        while let sink, let first = inbox.first, first.due <= loop.now {
            inbox.removeFirst()
            sink.received(first.packet, at: first.due)
        }
    }

    private func deliverAll() {
        while let sink, let first = inbox.popFirst() {
            sink.received(first.packet, at: loop.now)
        }
    }
}
