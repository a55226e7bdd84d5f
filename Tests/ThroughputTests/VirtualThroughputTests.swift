import BBBenchTesting
import BBHost
import BBPackets
import BBSimulation
import BBTiming
import BBTraffic
import Testing

@testable import BBThroughput

/// Flows over the simulated air compared with the model. Tests/Reference compares the independent table and the air log.
@Suite struct VirtualThroughputTests {
    struct Row: Sendable, CustomTestStringConvertible {
        var over = FlowKind.notify
        var direction = FlowDirection.fromSubject
        var phy: LinkPHY
        var dataLength: Int
        var mtu: Int
        var interval: Microseconds
        var testDescription: String { "\(over) \(direction) \(phy.rawValue) \(dataLength)/\(mtu) at \(interval.milliseconds) ms" }

        var request: ThroughputRow.Request {
            .init(over: over, direction: direction, phy: phy, dataLength: dataLength, mtu: mtu, interval: interval)
        }
    }

    private func measure(_ row: Row, seconds: Double = 1, _ adjust: (inout VirtualPair.Settings) -> Void = { _ in }) throws -> ThroughputRow
    {
        var settings = VirtualPair.Settings()
        adjust(&settings)
        return try World.run { world in
            let pair = try VirtualPair(settings, loop: world.loop)
            world.atEnd { for end in [pair.bench.tester, pair.bench.subject] { end?.host.close() } }
            try await pair.bench.start()
            return await pair.bench.measure(row.request, seconds: seconds)
        }
    }

    @Test(arguments: [
        Row(phy: .le2M, dataLength: 251, mtu: 247, interval: 15_000), Row(phy: .le1M, dataLength: 27, mtu: 23, interval: 7_500),
        Row(phy: .le1M, dataLength: 27, mtu: 247, interval: 30_000), Row(phy: .codedS8, dataLength: 251, mtu: 247, interval: 7_500),
        Row(phy: .codedS2, dataLength: 251, mtu: 247, interval: 50_000), Row(phy: .le2M, dataLength: 251, mtu: 498, interval: 15_000),
        Row(over: .write, direction: .toSubject, phy: .le2M, dataLength: 251, mtu: 247, interval: 15_000),
        Row(over: .write, direction: .fromSubject, phy: .codedS2, dataLength: 251, mtu: 185, interval: 30_000),
        Row(direction: .toSubject, phy: .codedS8, dataLength: 27, mtu: 23, interval: 30_000),
        Row(phy: .le2M, dataLength: 251, mtu: 516, interval: 15_000), Row(phy: .le1M, dataLength: 251, mtu: 517, interval: 30_000),
        Row(direction: .toSubject, phy: .le2M, dataLength: 251, mtu: 517, interval: 15_000),
        Row(over: .write, direction: .toSubject, phy: .le2M, dataLength: 251, mtu: 516, interval: 15_000),
        Row(over: .write, direction: .fromSubject, phy: .le2M, dataLength: 27, mtu: 517, interval: 15_000),
    ])
    func reachesTheCeiling(_ row: Row) throws {
        let result = try measure(row)
        #expect(result.packets > 0 && result.octets == result.packets * min(512, row.mtu - 3))
        #expect(result.failure == nil)
        #expect(abs(result.percent - 100) < 0.01, "\(result.goodput) of \(result.ceiling?.perInterval ?? 0) kbit/s")
        #expect(result.tally.isClean)
        #expect(result.limit == .air || result.limit == .interval)
        #expect(result.link?.phy == row.phy && result.link?.mtu == row.mtu)
    }

    /// Each write of 512 octets has a response; the server would refuse a longer value.
    @Test(arguments: [516, 517], FlowDirection.allCases) func requestsEndAt512Octets(_ mtu: Int, _ direction: FlowDirection) throws {
        let result = try measure(Row(over: .request, direction: direction, phy: .le2M, dataLength: 251, mtu: mtu, interval: 15_000))
        #expect(result.failure == nil && result.tally.isClean && result.packets > 0 && result.octets == result.packets * 512)
    }

    /// A subject whose controller has no data length extension: the row has the real length, and the explanation says whose limit it is.
    @Test(arguments: FlowDirection.allCases) func aShortDataLengthIsNamed(_ direction: FlowDirection) throws {
        let row = Row(
            over: direction == .fromSubject ? .notify : .write, direction: direction, phy: .le2M, dataLength: 251, mtu: 247,
            interval: 15_000)
        let result = try measure(row) { $0.subject.maxOctets = 27 }
        #expect(result.failure == nil && result.link?.octets == 27 && result.limit == .dataLength, "\(result.explanation)")
        let verb = direction == .fromSubject ? "sends" : "receives"
        #expect(result.explanation.contains("data-length (the subject \(verb) 27 octets at most)"), "\(result.explanation)")
        // A tester that cannot do more does not blame the subject.
        let own = try measure(row) {
            $0.subject.maxOctets = 27
            $0.tester.maxOctets = 27
        }
        #expect(own.failure == nil && !own.missing.contains { $0.cause == .dataLength }, "\(own.explanation)")
    }

    private func measureTogether(_ row: Row, links: Int, both: Bool, seconds: Double = 1, packetError: Double = 0) throws -> [ThroughputRow]
    {
        var settings = VirtualPair.Settings()
        (settings.links, settings.packetErrorRate) = (links, packetError)
        return try World.run { world in
            let pair = try VirtualPair(settings, loop: world.loop)
            world.atEnd { for end in pair.bench.allEnds { end.host.close() } }
            try await pair.bench.start()
            var request = row.request
            request.isBothWays = both
            return await pair.bench.measureTogether(request, seconds: seconds)
        }
    }

    @Test(arguments: [
        Row(phy: .le2M, dataLength: 251, mtu: 247, interval: 15_000), Row(phy: .le1M, dataLength: 27, mtu: 247, interval: 30_000),
        Row(over: .write, direction: .toSubject, phy: .le1M, dataLength: 251, mtu: 185, interval: 30_000),
        Row(direction: .toSubject, phy: .le2M, dataLength: 251, mtu: 247, interval: 15_000),
    ])
    func bothWaysReachTheirCeiling(_ row: Row) throws {
        let rows = try measureTogether(row, links: 1, both: true)
        #expect(rows.map(\.failure) == [nil, nil, nil] && rows.map(\.tally.isClean) == [true, true, true])
        #expect(rows[0].request.direction != rows[1].request.direction && rows[2].place?.link == nil)
        for row in rows { #expect(abs(row.percent - 100) < 0.5, "\(row.goodput) of \(row.ceiling?.perInterval ?? 0) kbit/s") }
        #expect(abs(rows[2].goodput - rows[0].goodput - rows[1].goodput) < 0.001 && abs((rows[2].place?.fairness ?? 0) - 1) < 0.001)
    }

    /// Together the links carry no more than one, each has a share, and missing throughput is attributed to the other links.
    @Test(arguments: [(2, false), (5, false), (3, true)]) func linksShareTheRadio(_ links: Int, _ both: Bool) throws {
        let rows = try measureTogether(Row(phy: .le2M, dataLength: 251, mtu: 247, interval: 30_000), links: links, both: both)
        #expect(rows.count == links * (both ? 2 : 1) + 1 && rows.allSatisfy { $0.failure == nil && $0.tally.isClean })
        let sum = try #require(rows.last)
        let flows = rows.dropLast()
        #expect(Set(flows.compactMap { $0.place?.link }) == Set(1...links))
        #expect(flows.allSatisfy { $0.goodput > 0 && ($0.limit == .radio || $0.percent > 99) })
        #expect(sum.percent > 60 && sum.percent < 100.01, "\(sum.goodput) of \(sum.ceiling?.perInterval ?? 0) kbit/s")
        let fairness = try #require(sum.place?.fairness)
        #expect(fairness >= 1 / Double(flows.count) && fairness <= 1.0001)
        let missing = sum.missing.reduce(sum.goodput) { $0 + $1.kbps }
        #expect(abs(missing - (sum.ceiling?.backToBack ?? 0)) < 1, "what is missing adds up")
    }

    @Test func lossOnSeveralLinksIsNamed() throws {
        let rows = try measureTogether(
            Row(phy: .le2M, dataLength: 251, mtu: 247, interval: 30_000), links: 2, both: false, packetError: 0.1)
        #expect(rows.allSatisfy { $0.failure == nil && $0.missing.contains { $0.cause == .retransmissions } })
    }

    /// Each BR/EDR packet type reaches its maximum by slots: one SDU that fills it, or SDUs split into packets of its family.
    @Test(arguments: PacketFamily.allCases.flatMap(\.types), FlowDirection.allCases)
    func packetTypesReachTheirCeilings(_ type: BREDRPacketType, _ direction: FlowDirection) throws {
        for sdu in [nil, direction == .toSubject ? 672 : 1_017] {
            let request = ThroughputRow.Request(direction: direction, packets: type, sdu: sdu)
            let result = try measure(request, seconds: 0.5)
            #expect(result.failure == nil && result.tally.isClean && result.limit == .air)
            #expect(abs(result.percent - 100) < 0.5, "\(result.goodput) of \(result.ceiling?.perInterval ?? 0) kbit/s with \(sdu ?? 0)")
        }
    }

    @Test(arguments: [BREDRPacketType.dm1, .dh3, .twoDH5, .threeDH5]) func encryptedPacketsReachTheirCeilings(_ type: BREDRPacketType)
        throws
    {
        let result = try measure(ThroughputRow.Request(direction: .toSubject, packets: type, isEncrypted: true), seconds: 0.5)
        #expect(result.failure == nil && result.tally.isClean && result.isEncrypted)
        #expect(abs(result.percent - 100) < 0.5, "\(result.goodput) of \(result.ceiling?.perInterval ?? 0) kbit/s")
    }

    @Test(arguments: [BREDRPacketType.dm1, .dm5, .dh1, .dh5, .twoDH3, .threeDH5], FlowDirection.allCases)
    func serialPortsReachTheirCeilings(_ type: BREDRPacketType, _ direction: FlowDirection) throws {
        let result = try measure(ThroughputRow.Request(over: .rfcomm, direction: direction, packets: type), seconds: 0.5)
        #expect(result.failure == nil && result.tally.isClean && result.isEncrypted)
        #expect(abs(result.percent - 100) < 1, "\(result.goodput) of \(result.ceiling?.perInterval ?? 0) kbit/s")
    }

    @Test func whatABadAirTakesOfSlotsIsNamed() throws {
        let result = try measure(ThroughputRow.Request(direction: .toSubject, packets: .dh5)) { $0.packetErrorRate = 0.1 }
        #expect(result.limit == .retransmissions && result.tally.isClean && (70...95).contains(result.percent))
        #expect((result.counters?.retransmissions ?? 0) > 10)
    }

    /// Neither transport starves the other on a shared radio, and together they carry no more than one.
    @Test func bothTransportsShareARadio() throws {
        var settings = VirtualPair.Settings()
        (settings.tester.profile, settings.subject.profile) = (.dual, .dual)
        let rows = try World.run { world in
            let pair = try VirtualPair(settings, loop: world.loop)
            world.atEnd { for end in [pair.bench.tester, pair.bench.subject] { end?.host.close() } }
            try await pair.bench.start()
            let le = ThroughputRow.Request(
                over: .notify, direction: .fromSubject, phy: .le2M, dataLength: 251, mtu: 247, interval: .milliseconds(30))
            return await pair.bench.measure(le, beside: ThroughputRow.Request(direction: .fromSubject, packets: .threeDH5), seconds: 2)
        }
        #expect(rows.allSatisfy { $0.failure == nil && $0.tally.isClean && $0.percent > 2 && $0.limit == .radio }, "\(rows)")
        #expect(rows.map(\.percent).reduce(0, +) <= 101)
    }

    private func measure(
        _ request: ThroughputRow.Request, seconds: Double = 1, _ adjust: (inout VirtualPair.Settings) -> Void = { _ in }
    ) throws -> ThroughputRow {
        var settings = VirtualPair.Settings()
        (settings.tester.profile, settings.subject.profile) = (.dual, .dual)
        adjust(&settings)
        return try World.run { world in
            let pair = try VirtualPair(settings, loop: world.loop)
            world.atEnd { for end in [pair.bench.tester, pair.bench.subject] { end?.host.close() } }
            try await pair.bench.start()
            return await pair.bench.measure(request, seconds: seconds)
        }
    }

    @Test func fewerExchangesAreNamedEventLength() throws {
        let result = try measure(Row(phy: .le2M, dataLength: 251, mtu: 247, interval: 15_000)) { $0.tester.maxExchangesPerEvent = 3 }
        #expect(result.packetsPerEvent == 3)
        #expect(result.limit == .eventLength)
        #expect(result.failure == nil)
    }

    @Test func oneBufferIsNamedCredits() throws {
        let result = try measure(Row(phy: .le2M, dataLength: 251, mtu: 247, interval: 15_000)) { $0.subject.aclCount = 1 }
        #expect(result.limit == .credits)
        #expect(result.percent < 50)
        #expect(result.failure == nil)
    }

    @Test func lostPacketsAreSentAgainAndNamed() throws {
        let result = try measure(Row(phy: .le2M, dataLength: 251, mtu: 247, interval: 15_000)) { $0.packetErrorRate = 0.1 }
        #expect(result.failure == nil)
        #expect(result.limit == .retransmissions)
        #expect((result.counters?.retransmissions ?? 0) > 50)
        #expect(result.tally.isClean)
        #expect(result.percent < 95)
    }

    @Test func writeRequestsTakeTwoEvents() throws {
        let result = try measure(
            Row(over: .request, direction: .toSubject, phy: .le1M, dataLength: 27, mtu: 23, interval: 30_000), seconds: 6)
        #expect(abs(result.goodput - 20 * 8 / 60.0) < 0.05)
        #expect(result.limit == .acknowledgement)
    }

    @Test func equalSeedsGiveEqualRows() throws {
        let row = Row(phy: .le1M, dataLength: 251, mtu: 247, interval: 15_000)
        let first = try measure(row) { $0.packetErrorRate = 0.05 }
        let second = try measure(row) { $0.packetErrorRate = 0.05 }
        #expect(first == second)
    }
}
