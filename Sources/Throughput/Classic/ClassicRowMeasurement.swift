import BBHost
import BBPackets
import BBTiming
import BBTraffic

/// The flow of one BR/EDR row: settle, count over complete SDUs, stop, and account for every SDU.
struct ClassicRowMeasurement {
    private let bench: ThroughputBench
    private let setup: ClassicLinkSetup
    private let octets: Int
    private let slots: SlotCeiling
    private let cycles: Int

    init(_ bench: ThroughputBench, _ setup: ClassicLinkSetup, seconds: Double) throws {
        self.bench = bench
        self.setup = setup
        guard let packets = setup.request.packets,
            let slots = SlotCeiling(
                sdu: setup.request.mtu, overhead: setup.request.over.overhead(on: setup.request.mtu), longest: packets,
                isAuthenticated: setup.tester.usesAESCCM)
        else {
            throw MeasurementFailure("the flow needs a packet type of the asynchronous transport")
        }
        octets = setup.request.mtu
        self.slots = slots
        cycles = max(1, Int(saturating: seconds * 1_000_000 / Double((SlotRate.slot * slots.slots).rawValue)))
    }

    /// - Parameter isNeeded: true while the flow must continue after its count.
    func run(_ row: inout ThroughputRow, isNeeded: () -> Bool = { false }) async throws {
        let (loop, receiver) = (bench.loop, setup.receiver)
        row.ceiling = Ceiling(slots)
        row.events = cycles
        let begin = loop.now + .milliseconds(500)
        let end = begin + SlotRate.slot * slots.slots * cycles
        receiver.count(after: begin, until: end)
        let flow = Flow(octets: octets)
        let sending = loop.start { [setup] in try await flow.run(into: setup.output) }
        try await loop.sleep(until: begin)
        let before = probe()
        try await loop.sleep(until: end)
        if let before, let after = probe() { row.counters = after - before }
        (row.begin, row.end) = (begin, end)
        (row.packets, row.octets) = (receiver.packets, receiver.octets)
        while isNeeded(), setup.tester.isConnected { try await loop.sleep(for: .milliseconds(10)) }
        flow.isRunning = false
        try await sending.value()
        try await settle { receiver.tally.packets >= Int(flow.sent) }
        receiver.close(sent: flow.sent)
        row.tally = receiver.tally
        guard setup.tester.isConnected else { throw MeasurementFailure("the link was lost") }
        row.explainSlots()
        if !row.tally.isClean { row.failure = RowMeasurement.complaint(row.tally) }
    }

    /// Keeps a channel's queue full.
    private final class Flow {
        let octets: Int
        var isRunning = true
        private(set) var sent: UInt32 = 0

        init(octets: Int) { self.octets = octets }

        func run(into output: ClassicLinkSetup.Output) async throws {
            while isRunning {
                try await output(FlowPacket.make(sequence: sent, count: octets))
                sent &+= 1
            }
        }
    }

    /// Link counters of the sender, which knows its retransmissions.
    private func probe() -> LinkCounters? {
        setup.request.direction == .fromSubject
            ? bench.subject?.probe?(setup.subject.handle) : bench.tester.probe?(setup.tester.handle)
    }

    private func settle(_ isDone: () -> Bool) async throws {
        let deadline = bench.loop.now + .seconds(30)
        while !isDone(), setup.tester.isConnected, bench.loop.now < deadline { try await bench.loop.sleep(for: .milliseconds(10)) }
    }
}

extension ThroughputRow {
    /// Explains missing goodput in slots: retransmissions, and unused slots.
    fileprivate mutating func explainSlots() {
        guard let ceiling else { return }
        let gap = ceiling.perInterval - goodput
        guard gap > ceiling.perInterval * (1 - Explanation.reached) else {
            limit = .air
            return
        }
        let resent = counters?.retransmissions ?? 0
        let cause: Limit = resent > 0 ? .retransmissions : .host
        limit = cause
        missing = [
            Missing(cause: cause, kbps: (gap * 10).rounded() / 10, text: resent > 0 ? "\(resent) packets were sent again" : cause.text)
        ]
    }
}
