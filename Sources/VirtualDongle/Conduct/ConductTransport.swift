import BBPackets
import BBTiming
import BBTransport

/// A controller's end of a pipe with a conduct: rules change, hold, answer and add packets in both directions.
public final class ConductTransport: HCITransport, HCITransportSink {
    public var name: String { inner.name }

    let loop: RunLoop
    var random: RandomSource
    /// Connections that the host knows.
    private(set) var links = ConductLinks()
    /// True if no packets pass in either direction.
    var isFrozen = false
    private let inner: any HCITransport
    private let opening: Int
    private let rules: [any ConductRule]
    private var sink: (any HCITransportSink)?
    /// Rules that have sent a command, by its opcode; they get the answer instead of the host.
    private var hidden: [UInt16: [Int]] = [:]
    private var timers: [Timer] = []
    private var isClosed = false

    /// - Parameters:
    ///   - inner: the end towards the host.
    ///   - opening: number of times that the dongle has been opened, including this one.
    ///   - seed: determines random choices.
    public init(_ inner: any HCITransport, conduct: DongleConduct, opening: Int = 1, seed: UInt64 = 1, on loop: RunLoop) {
        self.inner = inner
        self.opening = opening
        self.loop = loop
        rules = conduct.makeRules()
        random = RandomSource(seed: seed, label: "conduct")
    }

    public func open(_ sink: any HCITransportSink) throws(TransportError) {
        self.sink = sink
        try inner.open(self)
        for (index, rule) in rules.enumerated() { rule.opened(opening, wire(index)) }
    }

    /// Handles a packet of the controller.
    public func send(_ packet: HCIPacket) {
        guard !isClosed else { return }
        links.note(packet)
        if let opcode = packet.answeredOpcode, let rule = hidden[opcode]?.popLast() {
            _ = rules[rule].toHost(packet, wire(rule))
            return
        }
        toHost(packet, from: rules.count)
    }

    /// Handles a packet of the host.
    public func received(_ packet: HCIPacket, at time: Microseconds) { toController(packet, from: 0) }

    /// Another program has opened the dongle; `number` counts from 1.
    func reopen(_ number: Int) { for (index, rule) in rules.enumerated() { rule.opened(number, wire(index)) } }

    /// The port was reset: the chip restarts.
    public func portWasReset() {
        isFrozen = false
        for rule in rules { rule.portWasReset() }
    }

    public func close() {
        end()
        inner.close()
    }

    public func closed(_ reason: TransportError) {
        let sink = sink
        end()
        sink?.closed(reason)
    }

    private func end() {
        isClosed = true
        sink = nil
        for timer in timers { loop.cancel(timer) }
        timers = []
    }

    // MARK: For rules

    private func wire(_ position: Int) -> ConductWire { ConductWire(transport: self, position: position) }

    func toHost(_ packet: HCIPacket, from position: Int) {
        guard !isClosed, !isFrozen else { return }
        var packet = packet
        for index in (0..<position).reversed() {
            guard let next = rules[index].toHost(packet, wire(index)) else { return }
            packet = next
        }
        guard !isFrozen else { return }
        inner.send(packet)
    }

    func toController(_ packet: HCIPacket, from position: Int) {
        guard !isClosed, !isFrozen else { return }
        var packet = packet
        for index in position..<max(position, rules.count) {
            guard let next = rules[index].fromHost(packet, wire(index)) else { return }
            packet = next
        }
        guard !isFrozen else { return }
        links.noteCommand(packet)
        sink?.received(packet, at: loop.now)
    }

    /// Delivers the next answer to a command to a rule instead of the host.
    func hide(_ opcode: UInt16, for rule: Int) { hidden[opcode, default: []].insert(rule, at: 0) }

    func schedule(after delay: Microseconds, _ action: @escaping () -> Void) {
        timers.removeAll { !loop.isSet($0) }
        timers.append(
            loop.schedule(after: delay) { [weak self] in
                if let self, !isClosed { action() }
            })
    }
}
