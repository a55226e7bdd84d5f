import BBMisbehaviour
import BBPackets
import BBTiming
import BBTransport

/// A fault of a pipe: matching packets and the action.
public struct TransportFault: Sendable, Hashable {
    public enum Action: Sendable, Hashable {
        case drop
        /// Delays the packet and, to keep the order, later packets of the same direction.
        case delay(Microseconds)
        case duplicate
        /// Flips the bits of `mask` in the octet at `offset`, counted from the start of the header; at a random offset if nil.
        case corrupt(offset: Int?, mask: UInt8)
        case truncate(to: Int)
        /// Closes the pipe instead of delivering the packet.
        case disconnect
        /// Drops all further packets of this direction silently.
        case silence
    }

    public enum Way: Sendable, Hashable {
        case sent
        case received
    }

    public var way: Way
    public var action: Action
    /// Kind of matching packets; nil for all.
    public var kind: HCIPacket.Kind?
    /// First octets of matching packets, header included.
    public var prefix: [UInt8]
    /// The matching packets that are affected.
    public var occurrences: Occurrences
    /// Probability, 0...1, that a matching packet is affected.
    public var probability: Double

    /// - Parameters:
    ///   - after: number of matching packets that pass before the first fault.
    ///   - times: number of affected packets; nil for no limit.
    public init(
        _ action: Action, way: Way, kind: HCIPacket.Kind? = nil, prefix: [UInt8] = [], after: Int = 0, times: Int? = nil,
        probability: Double = 1
    ) {
        self.action = action
        self.way = way
        self.kind = kind
        self.prefix = prefix
        occurrences = Occurrences(skip: after, count: times)
        self.probability = probability
    }

    func matches(_ packet: HCIPacket, _ way: Way) -> Bool {
        way == self.way && (kind ?? packet.kind) == packet.kind && packet.bytes.starts(with: prefix)
    }
}

/// A pipe with injected faults, scripted or random from a seed.
public final class FaultTransport: HCITransport, HCITransportSink {
    public var name: String { inner.name }
    /// Number of packets affected by each fault.
    public private(set) var hits: [Int]

    private let inner: any HCITransport
    private let loop: RunLoop
    private var faults: [TransportFault]
    private var random: RandomSource
    private var sink: (any HCITransportSink)?
    private var isSilent: Set<TransportFault.Way> = []
    private var lastDue: [TransportFault.Way: Microseconds] = [:]
    private var isClosed = false

    public init(_ inner: any HCITransport, faults: [TransportFault], seed: UInt64, on loop: RunLoop) {
        self.inner = inner
        self.faults = faults
        self.loop = loop
        hits = faults.map { _ in 0 }
        random = RandomSource(seed: seed, label: "faults of \(inner.name)")
    }

    public func open(_ sink: any HCITransportSink) throws(TransportError) {
        self.sink = sink
        try inner.open(self)
    }

    public func send(_ packet: HCIPacket) { pass(packet, .sent, stamped: loop.now) }
    public func received(_ packet: HCIPacket, at time: Microseconds) { pass(packet, .received, stamped: time) }

    public func close() {
        isClosed = true
        sink = nil
        inner.close()
    }

    public func closed(_ reason: TransportError) { end(with: reason) }

    private func pass(_ packet: HCIPacket, _ way: TransportFault.Way, stamped time: Microseconds) {
        guard !isClosed, !isSilent.contains(way) else { return }
        guard let action = nextAction(for: packet, way) else { return forward(packet, way, at: time) }
        switch action {
        case .drop: break
        case .delay(let delay): forward(packet, way, at: max(time, loop.now) + delay)
        case .duplicate:
            forward(packet, way, at: time)
            forward(packet, way, at: time)
        case .corrupt(let offset, let mask):
            var broken = packet
            if let index = offset ?? packet.bytes.indices.randomElement(using: &random), broken.bytes.indices.contains(index) {
                broken.bytes[index] ^= mask
            }
            forward(broken, way, at: time)
        case .truncate(let length): forward(HCIPacket(packet.kind, Array(packet.bytes.prefix(max(0, length)))), way, at: time)
        case .silence: isSilent.insert(way)
        case .disconnect: loop.schedule(after: .zero) { self.disconnect() }
        }
    }

    /// The action of the first fault that applies, if any.
    private func nextAction(for packet: HCIPacket, _ way: TransportFault.Way) -> TransportFault.Action? {
        for (index, fault) in faults.enumerated() where fault.matches(packet, way) {
            guard fault.probability >= 1 || random.chance(fault.probability) else { continue }
            guard faults[index].occurrences.isDue() else { continue }
            hits[index] += 1
            return fault.action
        }
        return nil
    }

    private func forward(_ packet: HCIPacket, _ way: TransportFault.Way, at time: Microseconds) {
        let due = max(time, lastDue[way] ?? time)
        guard due > loop.now || lastDue[way] ?? .zero > loop.now else { return handOver(packet, way, at: time) }
        lastDue[way] = due
        loop.schedule(at: due) { self.handOver(packet, way, at: due) }
    }

    private func handOver(_ packet: HCIPacket, _ way: TransportFault.Way, at time: Microseconds) {
        guard !isClosed else { return }
        switch way {
        case .sent: inner.send(packet)
        case .received: sink?.received(packet, at: time)
        }
    }

    private func disconnect() {
        guard !isClosed else { return }
        inner.close()
        end(with: .lost(name))
    }

    private func end(with reason: TransportError) {
        guard !isClosed else { return }
        isClosed = true
        let sink = self.sink
        self.sink = nil
        sink?.closed(reason)
    }
}
