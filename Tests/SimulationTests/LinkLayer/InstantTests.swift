import BBBenchTesting
import BBPackets
import BBTiming
import Testing

@testable import BBSimulation

/// Behaviour of both ends before, at and after an instant. Core Vol 6, Part B, 5.1.1 and 5.5.
@Suite struct InstantTests {
    // MARK: Supervision

    /// "The connection supervision timer is reset at the instant" of a connection update. Core Vol 6, Part B, 5.1.1.
    @Test(arguments: [true, false])
    func supervisionRunsAnewFromTheInstant(isSilentLater: Bool) throws {
        let bench = LinkBench {
            $0.interval = 30_000
            $0.latency = 10
            $0.timeout = 8_000_000
        }
        try bench.run(1_000_000)
        let shorter = RequestedParameters(intervalMin: 24, intervalMax: 24, latency: 0, timeout: 10)
        bench.central.link.request(LocalConnectionUpdate(shorter))
        while bench.peripheral.link.engine.nextInstant == nil { try bench.run(30_000) }
        let instant = try #require(bench.central.link.engine.nextInstant)
        let due = bench.central.link.state.timing.anchor(of: instant)
        // Packets are lost for longer than the new timeout, and much less than the old one, until just before the instant.
        bench.air.propagation.setLoss(.init(unnoticed: 1), on: .init())
        #expect(due - bench.loop.now > 400_000)
        try bench.run(due - bench.loop.now - 1_000)
        if !isSilentLater { bench.air.propagation.setLoss(.init(), on: .init()) }
        try bench.run(2_000_000)
        for end in bench.ends {
            if isSilentLater {
                #expect(end.disconnectedAt == due + 100_000)
                #expect(end.log.suffix(2) == ["updated 00 30000 0 100000", "disconnected 08"])
            } else {
                #expect(end.log == ["established", "updated 00 30000 0 100000"])
            }
        }
        bench.abandon()
    }

    // MARK: An instant at the current event

    /// Core Vol 6, Part B, 5.5.1: an instant has passed if (Instant - connEventCount) modulo 65536 is 32767 or more; an instant equal to
    /// connEventCount is the current event.
    @Test(arguments: [
        ("0001000006000000" + "6400", "updated 00 7500 0 1000000"), ("000100000C000100" + "9001", "updated 00 15000 1 4000000"),
        ("01FFFF000000", nil), ("180202", "phy 00 le2M le2M"),
    ])
    func anInstantThatIsNowTakesEffectAtOnce(pdu: String, expected: String?) throws {
        let bench = LinkBench()
        try bench.run(100_000)
        if pdu.hasPrefix("18") {
            bench.central.link.send(control: LLControl.PHYReq(txPHYs: .le2M, rxPHYs: .le2M).bytes)
            try bench.run(15_000)
        }
        // The peripheral receives the PDU in the next event.
        let counter = bench.central.link.state.timing.eventCounter + 1
        bench.central.link.send(control: octets(pdu) + [UInt8(truncatingIfNeeded: counter), UInt8(truncatingIfNeeded: counter >> 8)])
        try bench.run(14_000)
        let link = try #require(bench.peripheral.link)
        #expect(!link.isClosed && link.engine.nextInstant == nil)
        #expect(bench.peripheral.log == ["established"] + (expected.map { [$0] } ?? []))
        // The interval counts from the anchor point of the instant's event.
        let timing = link.state.timing
        #expect(timing.anchor(of: counter + 1) - bench.central.link.state.timing.anchor(of: counter) == timing.interval)
        if pdu.hasPrefix("01") { #expect(link.channelMap == ChannelMap(0xFFFF)) }
        bench.abandon()
    }

    // MARK: A peripheral with latency

    enum Change: CaseIterable { case timing, channelMap, phy }

    /// Events of the central's first packet with an instant, and events in which the peripheral transmitted after it.
    private struct Watch {
        var announced: Int?
        var instant: Int?
        var answered: [Int] = []
    }

    private func change(_ change: Change, _ bench: LinkBench) {
        switch change {
        case .timing: bench.central.link.request(LocalConnectionUpdate(ProcedureTests.slower))
        case .channelMap: bench.central.link.updateChannelMap(ChannelMap(0xFF_FFFF))
        case .phy: _ = bench.central.link.updatePHY(tx: .le2M, rx: .le2M)
        }
    }

    /// Core Vol 6, Part B, 5.5.1: the peripheral listens to every event until its acknowledgement is confirmed or the instant is reached;
    /// 5.1.1: and to the event before the instant. 5.5: at least six events to which it listens precede the instant.
    @Test(arguments: Change.allCases, [1, 4, 10, 30])
    func aSleepingPeripheralIsAwakeAroundAnInstant(change: Change, latency: Int) throws {
        for lost in [0, 1, 5] {
            let bench = LinkBench {
                $0.latency = latency
                $0.timeout = 10_000_000
            }
            var watch = Watch()
            let sniffer = ControlSniffer(bench)
            sniffer.onPacket = { start, isFromCentral, pdu in
                let event = (start - 1_250) / 15_000 as Int
                if isFromCentral, let instant = InstantTests.instant(pdu), watch.announced == nil {
                    (watch.announced, watch.instant) = (event, instant)
                }
                if !isFromCentral, watch.announced != nil, event <= watch.instant ?? 0 { watch.answered.append(event) }
            }
            try bench.run(1_003_333)
            self.change(change, bench)
            while watch.announced == nil { try bench.run(50) }
            // The acknowledgements of the first events are lost.
            let path = PropagationModel.Path(source: bench.radios[1].identifier)
            if lost > 0 { bench.air.propagation.setLoss(.init(unnoticed: 1), on: path) }
            while bench.peripheral.link.engine.nextInstant == nil { try bench.run(1_000) }
            try bench.run((15_000 as Microseconds) * max(0, lost - 1) + 7_500)
            bench.air.propagation.setLoss(.init(), on: path)
            try bench.run(15_000 * (8 + 7 * (latency + 1)))
            let (announced, instant) = (try #require(watch.announced), try #require(watch.instant))
            let heard = try #require(watch.answered.first)
            let awake = Set(watch.answered)
            for event in heard...(heard + 1 + lost) { #expect(awake.contains(event), "event \(event), heard in \(heard)") }
            #expect(awake.contains(instant - 1) && awake.contains(instant))
            #expect(instant - announced > 5 * (latency + 1))
            // It sleeps otherwise.
            #expect(awake.count <= 2 + lost + 2 + (instant - heard) / (latency + 1) + 1)
            #expect(bench.ends.allSatisfy { !$0.link.isClosed && $0.link.engine.isIdle })
            bench.abandon()
        }
    }

    /// Core Vol 6, Part B, 5.5: a PDU that waits behind an unacknowledged one names an instant six events after its own first
    /// transmission.
    @Test(arguments: [Change.timing, .channelMap], [0, 1, 2, 5, 9])
    func anInstantIsSettledAtTheFirstTransmission(change: Change, lost: Int) throws {
        let bench = LinkBench { $0.timeout = 10_000_000 }
        var (announced, instant): (Int?, Int?)
        let sniffer = ControlSniffer(bench)
        sniffer.onPacket = { start, isFromCentral, pdu in
            guard isFromCentral, let found = InstantTests.instant(pdu), announced == nil else { return }
            (announced, instant) = ((start - 1_250) / 15_000 as Int, found)
        }
        try bench.run(1_003_333)
        bench.central.link.send(control: LLControl.PingReq().bytes)
        self.change(change, bench)
        let path = PropagationModel.Path(source: bench.radios[1].identifier)
        bench.air.propagation.setLoss(.init(unnoticed: 1), on: path)
        try bench.run((15_000 as Microseconds) * lost + 1)
        bench.air.propagation.setLoss(.init(), on: path)
        try bench.run(500_000)
        #expect(try #require(instant) - #require(announced) == 6)
        #expect(bench.ends.allSatisfy { !$0.link.isClosed && $0.link.engine.isIdle })
        #expect(bench.central.link.channelMap == bench.peripheral.link.channelMap)
        #expect(bench.central.link.interval == bench.peripheral.link.interval)
        bench.abandon()
    }

    private static func instant(_ pdu: [UInt8]) -> Int? {
        guard let opcode = pdu.first, let message = LinkLayerControl.decode(opcode, pdu[...]) else { return nil }
        return switch message {
        case .connectionUpdateInd(let pdu): Int(pdu.instant)
        case .channelMapInd(let pdu): Int(pdu.instant)
        case .phyUpdateInd(let pdu): Int(pdu.instant)
        default: nil
        }
    }
}
