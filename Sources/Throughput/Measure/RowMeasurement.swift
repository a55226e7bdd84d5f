import BBHost
import BBPackets
import BBTiming
import BBTraffic

/// The flow of one row: settle, count over complete connection events, stop, and account for every packet.
struct RowMeasurement {
    let bench: ThroughputBench
    let setup: LinkSetup
    let valueOctets: Int
    let ceiling: Ceiling
    let limited: Ceiling
    private let events: Int
    private let receiver: FlowReceiver
    /// Synchronizes with concurrent flows.
    private let meeting: PeerDiscovery?

    init(_ bench: ThroughputBench, _ setup: LinkSetup, seconds: Double, valueOctets: Int? = nil, meeting: PeerDiscovery? = nil) {
        self.bench = bench
        self.setup = setup
        self.meeting = meeting
        let link = setup.parameters
        self.valueOctets = max(FlowPacket.shortest, min(valueOctets ?? link.valueOctets, link.valueOctets))
        ceiling = Ceiling(link, valueOctets: self.valueOctets, replies: setup.replies)
        limited = Ceiling(link, valueOctets: self.valueOctets, limits: bench.limits, replies: setup.replies)
        let cycle = limited.cycleEvents
        let wanted = Int(saturating: seconds * 1_000_000 / Double(max(1, link.interval.rawValue)))
        events = max(1, wanted / cycle) * cycle
        receiver = Self.receiver(bench, setup)
    }

    private static func receiver(_ bench: ThroughputBench, _ setup: LinkSetup) -> FlowReceiver {
        if setup.request.over == .channel {
            guard !LinkSetup.isFromSubject(setup.request) else { return setup.channelReceiver }
            return bench.subjectServer?.channelSink ?? FlowReceiver()
        }
        guard !setup.request.over.comesFromServer else { return FlowReceiver() }
        let server = LinkSetup.isServedBySubject(setup.request) ? bench.subjectServer : bench.testerServer
        return server?.sink ?? FlowReceiver()
    }

    func run(_ row: inout ThroughputRow) async throws {
        row.ceiling = ceiling
        row.events = events
        let span = setup.parameters.interval * events
        let delay = SchedulingDelay(loop: bench.loop)
        delay.start()
        defer {
            // A delay before the count does not matter; one after it cannot be told from one at its end.
            row.machineDelay = bench.loop.mode == .wall ? delay.total(since: row.begin) : nil
            delay.stop()
        }
        if bench.product != nil { return try await product(&row, span) }
        switch setup.request.over {
        case .notify: try await notifications(&row, span)
        case .write: try await commands(&row, span)
        case .request: try await requests(&row, span)
        case .ping: try await roundTrips(&row, span)
        case .channel where LinkSetup.isFromSubject(setup.request): try await fromChannels(&row, span)
        case .channel: try await toChannels(&row, span)
        case .l2cap, .rfcomm: throw MeasurementFailure("the flow needs a link over BR/EDR")
        }
        row.tally = receiver.tally
        guard setup.tester.isConnected else { throw MeasurementFailure("the link was lost") }
        let explanation = Explanation(
            goodput: row.goodput, link: setup.parameters, ceiling: ceiling, limited: limited, counters: row.counters, supply: row.supply,
            acknowledged: [.request, .ping].contains(setup.request.over) ? max(1, setup.bearers.count) : 0, replies: setup.replies,
            short: setup.shortDataLength(setup.parameters, of: "subject"))
        row.missing = explanation.missing
        row.limit = explanation.limit
        if !row.isWhole { row.failure = Self.complaint(row.tally) }
    }

    static func complaint(_ tally: FlowTally) -> String {
        "the flow was not whole: lost \(tally.lost), duplicated \(tally.duplicated), reordered \(tally.reordered), corrupted \(tally.corrupted)"
    }

    // MARK: Flows

    private func notifications(_ row: inout ThroughputRow, _ span: Microseconds) async throws {
        let (receiver, loop) = (receiver, bench.loop)
        try await setup.client.subscribe { receiver.receive($0, at: loop.now) }
        try await setup.client.command(.start(length: UInt16(clamping: valueOctets), count: 0))
        try await count(&row, span)
        let server = LinkSetup.isServedBySubject(setup.request) ? bench.subjectServer : bench.testerServer
        row.supply = server?.sender?.supply
        try await setup.client.command(.stop)
        let sent = try await setup.client.readCounters().sent
        try await settle { receiver.tally.packets >= Int(sent) }
        receiver.close(sent: sent)
    }

    private func fromChannels(_ row: inout ThroughputRow, _ span: Microseconds) async throws {
        try await setup.client.command(.startChannels(length: UInt16(clamping: valueOctets), count: 0))
        try await count(&row, span)
        row.supply = bench.subjectServer?.channelSender?.supply
        try await setup.client.command(.stop)
        let sent = try await setup.client.readCounters().sent
        try await settle { receiver.tally.packets >= Int(sent) }
        receiver.close(sent: sent)
    }

    private func toChannels(_ row: inout ThroughputRow, _ span: Microseconds) async throws {
        try await send(&row, span, ChannelSender(setup.tester, setup.channels, length: valueOctets))
    }

    private func commands(_ row: inout ThroughputRow, _ span: Microseconds) async throws {
        try await send(&row, span, setup.client.writer(length: valueOctets, over: setup.bearers))
    }

    /// Sends from this side until the count is over.
    private func send(_ row: inout ThroughputRow, _ span: Microseconds, _ sender: any FlowSource) async throws {
        try await setup.client.command(.reset)
        sender.start()
        defer { sender.stop() }
        if isForeignServer {
            try await countCompleted(&row, span, sender)
        } else {
            try await count(&row, span)
        }
        row.supply = sender.supply
        sender.stop()
        try await settle {
            setup.channels.allSatisfy { $0.queuedSDUs == 0 || !$0.isOpen } && setup.bearers.allSatisfy { $0.isIdle || !$0.isOpen }
        }
        try await drained(setup.client.link)
        try await verify(sent: sender.sent)
    }

    /// Write Requests, one at a time on the fixed channel or on each Enhanced ATT bearer.
    private func requests(_ row: inout ThroughputRow, _ span: Microseconds) async throws {
        try await setup.client.command(.reset)
        let (loop, sink, length) = (bench.loop, setup.client.sink, valueOctets)
        let begin = loop.now + settling
        let end = begin + span
        receiver.count(after: begin, until: end)
        let clients = setup.bearers.isEmpty ? [setup.client.link.gatt] : setup.bearers.map(\.gatt)
        let flow = RequestFlow()
        let running = clients.map { client in
            loop.start {
                while loop.now <= end {
                    let asked = loop.now
                    try await client.write(sink, FlowPacket.make(sequence: flow.next(), count: length))
                    if asked > begin, loop.now <= end { flow.times.record(loop.now - asked) }
                }
            }
        }
        for activity in running { try await activity.value() }
        take(&row, begin, end)
        row.roundTrips = flow.times.figures
        try await verify(sent: flow.sent)
    }

    private func roundTrips(_ row: inout ThroughputRow, _ span: Microseconds) async throws {
        let loop = bench.loop
        let pings = PingReceiver(loop)
        try await setup.client.subscribe { pings.receive($0, at: loop.now) }
        for _ in 0..<2 { _ = try await ping(pings) }
        var times = RoundTripRecorder()
        (row.begin, row.end) = (loop.now, loop.now)
        while loop.now < row.begin + span {
            let asked = loop.now
            row.end = try await ping(pings)
            times.record(row.end - asked)
            row.packets += 1
            row.octets += valueOctets
        }
        row.roundTrips = times.figures
    }

    /// Arrival time of the notification.
    private func ping(_ pings: PingReceiver) async throws -> Microseconds {
        let arrival = pings.expect(octets: valueOctets)
        try await setup.client.command(.start(length: UInt16(clamping: valueOctets), count: 1))
        do { return try await arrival.value(until: bench.loop.now + .seconds(30)) } catch is TimeOut {
            throw MeasurementFailure("no notification came within 30 s of the write that asked for it")
        }
    }

    private var isForeignServer: Bool { bench.subject == nil }

    // MARK: Counting

    /// Time until buffers are full and the pattern of fragments repeats.
    var settling: Microseconds { setup.parameters.interval * (2 * limited.cycleEvents + 16) }

    private func count(_ row: inout ThroughputRow, _ span: Microseconds) async throws {
        let begin = try await meeting?.arrive(settling: settling, span: span) ?? bench.loop.now + settling
        receiver.count(after: begin, until: begin + span)
        bench.watch?.open(after: begin, interval: setup.parameters.interval)
        try await bench.loop.sleep(until: begin)
        let before = probe()
        try await bench.loop.sleep(until: begin + span)
        if let before, let after = probe() { row.counters = after - before }
        take(&row, begin, begin + span)
        row.timeline = bench.watch?.timeline
        // The flow continues until all flows are counted.
        if let meeting { try await bench.loop.sleep(until: begin + meeting.span) }
    }

    private func take(_ row: inout ThroughputRow, _ begin: Microseconds, _ end: Microseconds) {
        (row.begin, row.end) = (begin, end)
        (row.packets, row.octets, row.bins) = (receiver.packets, receiver.octets, receiver.wholeBins)
    }

    /// Counts data acknowledged by the peer's controller, for a receiver that cannot be observed.
    func countCompleted(_ row: inout ThroughputRow, _ span: Microseconds, _ sender: any FlowSource) async throws {
        try await bench.loop.sleep(for: settling)
        let (begin, first) = (bench.loop.now, completed(sender))
        try await bench.loop.sleep(until: begin + span)
        (row.begin, row.end) = (begin, begin + span)
        row.packets = completed(sender) - first
        row.octets = row.packets * valueOctets
    }

    /// Sequence numbers and round trips of all requests of a row.
    private final class RequestFlow {
        private(set) var sent: UInt32 = 0
        var times = RoundTripRecorder()

        func next() -> UInt32 {
            defer { sent += 1 }
            return sent
        }
    }

    private func completed(_ sender: any FlowSource) -> Int {
        let link = setup.client.link
        let acl = max(27, setup.parameters.aclLength ?? 27)
        let pdus = setup.parameters.channels.map { $0.payloads(ofValue: valueOctets).map { $0 + 4 } } ?? [valueOctets + 7]
        let perPacket = pdus.reduce(0) { $0 + ($1 + acl - 1) / acl }
        return Int(sender.sent) - (link.queuedFragments + link.fragmentsInController + perPacket - 1) / perPacket
    }

    /// Link counters: event endings from the central, retransmissions from the sender.
    private func probe() -> LinkCounters? {
        guard var counters = bench.tester.probe?(setup.tester.handle) else { return nil }
        if LinkSetup.isFromSubject(setup.request), let subject = setup.subject, let sender = bench.subject?.probe?(subject.handle) {
            counters.exchanges = sender.exchanges
            counters.retransmissions = sender.retransmissions
        }
        return counters
    }

    // MARK: Accounting

    func drained(_ link: Connection) async throws {
        try await settle { link.queuedFragments == 0 && link.fragmentsInController == 0 }
    }

    /// Waits until `isDone`, as long as packets may still arrive.
    private func settle(_ isDone: () -> Bool) async throws {
        let deadline = bench.loop.now + .seconds(30)
        while !isDone(), setup.tester.isConnected, bench.loop.now < deadline {
            try await bench.loop.sleep(for: setup.parameters.interval)
        }
    }

    /// Compares with the server's counters. For a server in this process, this reads the same tally over the air.
    private func verify(sent: UInt32) async throws {
        let counters = try await setup.client.readCounters()
        guard isForeignServer else { return receiver.close(sent: sent) }
        guard counters.received == sent, counters.lost == 0, counters.duplicated == 0, counters.corrupted == 0,
            counters.reordered == 0 || setup.bearers.count > 1
        else {
            throw MeasurementFailure(
                "of \(sent) packets the subject received \(counters.received): lost \(counters.lost), duplicated \(counters.duplicated), "
                    + "reordered \(counters.reordered), corrupted \(counters.corrupted)")
        }
    }
}
