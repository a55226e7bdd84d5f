import BBMisbehaviour
import BBPackets
import BBTiming
import Testing

@testable import BBSimulation

/// Instants, timeouts, injected faults and packet rules.
@Suite struct ProcedureTimingTests {
    @Test(arguments: [0, 1, 4, 30])
    func instantsLieSixEventsAheadThatThePeripheralListensTo(latency: Int) throws {
        for round in 0..<20 {
            let bench = LinkBench {
                $0.latency = latency
                $0.timeout = 10_000_000
            }
            let sniffer = ControlSniffer(bench)
            try bench.run(1_000_000 + Microseconds(round * 3_333))
            bench.central.link.updateChannelMap(ChannelMap(0xFFFF))
            // A sleeping peripheral hears the PDU up to 31 events late, and the instant is six times as far from there.
            try bench.run(3_500_000)
            let sent = try #require(sniffer.first(0x01))
            let instant = Int(sent.pdu[6]) | Int(sent.pdu[7]) << 8
            let eventSent = (sent.start - 1_250) / 15_000 as Int
            let ahead = instant - eventSent
            // The PDU may have to wait for a sleeping peripheral first.
            #expect(ahead > 5 * (latency + 1) && ahead <= 6 * (latency + 1) + 1)
            #expect(bench.peripheral.link.channelMap == bench.central.link.channelMap && bench.central.link.channelMap.used.count == 16)
            #expect(bench.ends.allSatisfy { !$0.link.isClosed })
        }
    }

    /// (Instant - connEventCount) modulo 65536 is 32767 or more. Core Vol 6, Part B, 5.5.1.
    @Test(arguments: [1, 2_000, 32_769, 32_770, 40_000])
    func anInstantThatHasPassedEndsTheLink(back: Int) throws {
        for opcode in [0x00, 0x01, 0x18] as [UInt8] {
            let bench = LinkBench()
            try bench.run(100_000)
            // The peripheral receives the PDU in the next event.
            let counter = UInt16(truncatingIfNeeded: bench.central.link.state.timing.eventCounter + 1 - back)
            let instant = [UInt8(truncatingIfNeeded: counter), UInt8(truncatingIfNeeded: counter >> 8)]
            let body: [UInt8] =
                switch opcode {
                case 0x00: [1, 0, 0, 6, 0, 0, 0, 100, 0]
                case 0x01: [0xFF, 0xFF, 0xFF, 0xFF, 0x1F]
                default: [2, 2]
                }
            if opcode == 0x18 {
                // The PDU must belong to a procedure.
                bench.central.link.send(control: LLControl.PHYReq(txPHYs: .le2M, rxPHYs: .le2M).bytes)
                try bench.run(5_000)
            }
            bench.central.link.send(control: [opcode] + body + instant)
            try bench.run(60_000)
            let hasPassed = back <= 32_769
            #expect(bench.peripheral.link.isClosed == hasPassed, "back \(back), opcode \(opcode)")
            if hasPassed { #expect(bench.peripheral.log == ["established", "disconnected 28"]) }
            bench.abandon()
        }
    }

    /// Only LL_CONNECTION_UPDATE_IND must end the link; another change may be applied at once. Core Vol 6, Part B, 5.5.1.
    @Test(arguments: [0x00, 0x01, 0x18] as [UInt8], [1, 2_000, 32_769])
    func aPeripheralMayKeepTheLinkPastAnInstant(opcode: UInt8, back: Int) throws {
        let bench = LinkBench { $0.peripheral.choices.keepsLinksPastInstants = true }
        try bench.run(100_000)
        let counter = UInt16(truncatingIfNeeded: bench.central.link.state.timing.eventCounter + 1 - back)
        let instant = [UInt8(truncatingIfNeeded: counter), UInt8(truncatingIfNeeded: counter >> 8)]
        let bodies: [UInt8: [UInt8]] = [0x00: [1, 0, 0, 6, 0, 0, 0, 100, 0], 0x01: [0xFF, 0xFF, 0, 0, 0]]
        if opcode == 0x18 {
            bench.central.link.send(control: LLControl.PHYReq(txPHYs: .le2M, rxPHYs: .le2M).bytes)
            try bench.run(5_000)
        }
        bench.central.link.send(control: [opcode] + (bodies[opcode] ?? [2, 0]) + instant)
        try bench.run(40_000)
        let peripheral = bench.peripheral.link!
        #expect(peripheral.isClosed == (opcode == 0))
        if opcode == 0x01 { #expect(peripheral.channelMap.used.count == 16) }
        if opcode == 0x18 { #expect(peripheral.receivePHY == .le2M) }
        bench.abandon()
    }

    @Test(arguments: [
        ("LL_VERSION_IND", 0), ("LL_FEATURE_RSP", 1), ("LL_LENGTH_RSP", 2), ("LL_PHY_RSP", 3), ("LL_CONNECTION_PARAM_RSP", 4),
    ])
    func anAnswerThatDoesNotComeEndsTheLinkAfterFortySeconds(name: String, act: Int) throws {
        let rule = try PacketRewrite(.llControl, name, .drop)
        let bench = LinkBench { $0.peripheral.quirks.rewrites = [rule] }
        bench.peripheral.answersRequests = { ($0, .success) }
        try bench.run(1_000_000)
        let acts: [ProcedureTests.Act] = [
            .version, .features, .length(251, 2_120), .phy(tx: .le2M, rx: .le2M), .update(ProcedureTests.faster),
        ]
        ProcedureTests.perform([acts[act]], bench.central)
        try bench.run(50_000_000)
        #expect(bench.central.log.last == "disconnected 22")
        #expect(bench.central.disconnectedAt == 41_000_000)
    }

    @Test func aHostThatDoesNotAnswerARequestEndsTheLink() throws {
        let bench = LinkBench()
        try bench.run(1_000_000)
        _ = bench.peripheral.link.updateParameters(ProcedureTests.slower)
        try bench.run(50_000_000)
        #expect(bench.peripheral.log.last == "disconnected 22")
        #expect(bench.peripheral.disconnectedAt == 41_000_000)
    }

    @Test func aTerminationThatNobodyHearsEndsWithTheSupervisionTimeout() throws {
        let bench = LinkBench()
        try bench.run(1_000_000)
        bench.air.propagation.setLoss(.init(unnoticed: 1), on: .init())
        bench.central.link.terminate(.remoteUserTerminatedConnection)
        try bench.run(2_000_000)
        #expect(bench.central.log == ["established", "disconnected 16"])
        #expect(bench.peripheral.log == ["established", "disconnected 08"])
    }

    // MARK: Data lengths

    /// A device without LE Coded, or one whose peer is known to lack it, sends no longer times than LE 1M needs. Core Vol 6, Part B, 4.5.10
    /// and 5.1.9.
    @Test(arguments: [true, false], [true, false])
    func timesOfLECodedAreToldOnlyWhereItIsUsed(isCoded: Bool, isPeerCoded: Bool) throws {
        let uncoded = LEFeatures.simulated.subtracting(.leCodedPHY)
        let bench = LinkBench {
            $0.central.features = isCoded ? .simulated : uncoded
            $0.peripheral.features = isPeerCoded ? .simulated : uncoded
            $0.defaults.suggestedTxTime = 17_040
        }
        let sniffer = ControlSniffer(bench)
        try bench.run(100_000)
        // First the suggested value, before the peer's features are known; then a requested value.
        let longest = isCoded ? 17_040 : 2_120 as UInt16
        #expect(sniffer.lengths.first { $0.fromCentral }?.times == [longest, longest])
        ProcedureTests.perform([.features], bench.central)
        try bench.run(100_000)
        sniffer.pdus.removeAll()
        ProcedureTests.perform([.length(251, 17_040)], bench.central)
        ProcedureTests.perform([.length(251, 17_040)], bench.peripheral)
        try bench.run(100_000)
        let expected = isCoded && isPeerCoded ? 17_040 : 2_120 as UInt16
        #expect(sniffer.lengths.count >= 4)
        for sent in sniffer.lengths {
            #expect(sent.times == [expected, expected], "from the \(sent.fromCentral ? "central" : "peripheral")")
        }
    }

    // MARK: Rules

    @Test func rulesChangeWhatIsSent() throws {
        let five: DynamicField = DynamicField("TX_PHYS", 4)
        let cases: [(PacketRewrite.Effect, [UInt8])] = [
            (.set([five]), [0x17, 4, 7]), (.replace([0x0D, 0x1A]), [0x0D, 0x1A]), (.append([9]), [0x17, 7, 7, 9]),
            (.delay(100_000), [0x17, 7, 7]), (.duplicate, [0x17, 7, 7]),
        ]
        for (effect, expected) in cases {
            let rule = try PacketRewrite(.llControl, "LL_PHY_RSP", effect)
            let bench = LinkBench { $0.peripheral.quirks.rewrites = [rule] }
            let sniffer = ControlSniffer(bench)
            try bench.run(100_000)
            _ = bench.central.link.updatePHY(tx: .le2M, rx: .le2M)
            try bench.run(1_000_000)
            let sent = sniffer.pdus.filter { !$0.fromCentral }
            #expect(sent.first?.pdu == expected)
            #expect(sent.filter { $0.pdu == expected }.count == (effect == .duplicate ? 2 : 1))
            if effect == .delay(100_000) {
                let request = try #require(sniffer.first(0x16))
                let answer = try #require(sent.first)
                #expect(answer.start - request.start >= 100_000)
            }
        }
        #expect(throws: DynamicPDUError.self) { try PacketRewrite(.llControl, "LL_PHY_ANSWER", .drop) }
        #expect(throws: DynamicPDUError.self) { try PacketRewrite(.llControl, "LL_PHY_RSP", .set([DynamicField("Nothing", 1)])) }
    }

    @Test func rulesCountAndChoose() throws {
        let rule = try PacketRewrite(.llControl, "LL_PING_RSP", .drop, Occurrences(skip: 1, count: 1))
        let bench = LinkBench { $0.peripheral.quirks.rewrites = [rule] }
        let sniffer = ControlSniffer(bench)
        try bench.run(100_000)
        for _ in 0..<2 {
            bench.central.link.ping()
            try bench.run(100_000)
        }
        #expect(sniffer.pdus.filter { $0.pdu == [0x13] }.count == 1)
    }

    // MARK: Injected faults

    @Test func plantedFaultsShow() throws {
        func run(_ change: (inout LinkBench.Options) -> Void, _ body: (LinkBench) throws -> Void) throws {
            let bench = LinkBench(change)
            try body(bench)
        }

        try run {
            $0.peripheral.quirks.dataLengthAnswer = 27
        } _: { bench in
            try bench.run(100_000)
            _ = bench.central.link.setDataLength(txOctets: 251, txTime: 2_120)
            try bench.run(100_000)
            #expect(bench.central.log == ["established"])
        }
        try run {
            $0.peripheral.quirks.phyAnswer = .le1M
        } _: { bench in
            try bench.run(100_000)
            _ = bench.central.link.updatePHY(tx: .le2M, rx: .le2M)
            try bench.run(200_000)
            #expect(bench.central.log == ["established", "phy 00 le1M le1M"])
        }
        try run {
            $0.peripheral.quirks.instantOffset = 1
        } _: { bench in
            try bench.run(100_000)
            _ = bench.central.link.updatePHY(tx: .le2M, rx: .le2M)
            try bench.run(1_000_000)
            // At least one event is lost: the peripheral still listens on LE 1M.
            #expect(bench.central.link.statistics.endedSilent > 0)
        }
        try run {
            $0.peripheral.quirks.hopOffset = 1
        } _: { bench in
            try bench.run(1_000_000)
            #expect(bench.central.log == ["disconnected 3E"])
        }
        try run {
            $0.latency = 5
            $0.timeout = 4_000_000
            $0.peripheral.choices.listensAtEveryEvent = true
        } _: { bench in
            try bench.run(3_000_000)
            #expect(bench.peripheral.link.statistics.events == 200)
        }
        try run {
            $0.central.quirks.ignoresSupervisionTimeout = true
        } _: { bench in
            try bench.run(1_000_000)
            bench.air.propagation.setLoss(.init(unnoticed: 1), on: .init())
            try bench.run(30_000_000)
            #expect(bench.central.log == ["established"])
        }
    }

    @Test func faultsOfTheDataPathLoseOrRepeatOctets() throws {
        for fault in 0..<2 {
            let bench = LinkBench {
                if fault == 0 { $0.central.quirks.sequenceNumberIsStuck = true } else { $0.central.quirks.neverRetransmits = true }
            }
            if fault == 1 { bench.air.propagation.setLoss(.init(corrupted: 0.2), on: .init()) }
            bench.central.saturate(length: 20)
            try bench.run(5_000_000)
            #expect(bench.central.completed * 20 > bench.peripheral.received.count)
        }
    }

    @Test(arguments: ["interFrameSpace", "crcOctets", "extraExchange"])
    func faultsOfTimeChangeWhatAnEventHolds(fault: String) throws {
        func exchanges(_ isPlanted: Bool) throws -> (count: Int, missed: Int) {
            let bench = LinkBench {
                $0.interval = 31_250
                for path in [\LinkBench.Options.central, \LinkBench.Options.peripheral] where isPlanted {
                    switch fault {
                    case "interFrameSpace": $0[keyPath: path].quirks.interFrameSpace = 151
                    case "crcOctets": $0[keyPath: path].quirks.crcOctets = 2
                    default: $0[keyPath: path].quirks.extraExchangesPerEvent = 1
                    }
                }
                $0.phy = .le2M
            }
            bench.peripheral.saturate(length: 27)
            try bench.run(10_000_000)
            try bench.rest()
            return (bench.central.receivedPDUs.count, bench.central.link.statistics.missedEvents)
        }
        let (good, bad) = (try exchanges(false), try exchanges(true))
        #expect(good.missed == 0)
        #expect(good.count != bad.count)
    }
}
