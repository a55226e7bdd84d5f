import BBBenchTesting
import BBHost
import BBPackets
import BBSimulation
import BBTiming
import BBTraffic
import Testing

@testable import BBThroughput

/// Flows over L2CAP channels compared with the model. Tests/Reference compares the independent table and the air log.
@Suite struct ChannelThroughputTests {
    private func measure(
        _ request: ThroughputRow.Request, seconds: Double = 1, valueOctets: Int? = nil,
        _ adjust: (inout VirtualPair.Settings) -> Void = { _ in }
    ) throws -> [ThroughputRow] {
        var settings = VirtualPair.Settings()
        adjust(&settings)
        return try World.run { world in
            let pair = try VirtualPair(settings, loop: world.loop)
            world.atEnd { for end in pair.bench.allEnds { end.host.close() } }
            try await pair.bench.start()
            guard request.isBothWays || settings.links > 1 else {
                return [await pair.bench.measure(request, seconds: seconds, valueOctets: valueOctets)]
            }
            return await pair.bench.measureTogether(request, seconds: seconds)
        }
    }

    static func request(
        _ direction: FlowDirection, _ phy: LinkPHY, _ length: Int, sdu: Int? = nil, mps: Int? = nil, count: Int = 1,
        credits: Int = ChannelRequest.mostCredits, interval: Microseconds = 15_000
    ) -> ThroughputRow.Request {
        .init(channel: direction, phy: phy, dataLength: length, sdu: sdu, mps: mps, count: count, credits: credits, interval: interval)
    }

    @Test(arguments: [
        request(.toSubject, .le2M, 251), request(.fromSubject, .le2M, 251), request(.fromSubject, .le1M, 27, sdu: 100),
        request(.toSubject, .le2M, 251, sdu: 1_000), request(.fromSubject, .codedS2, 251, sdu: 500, mps: 100, interval: 50_000),
        request(.toSubject, .le2M, 251, sdu: 1_000, count: 3), request(.fromSubject, .le1M, 251, sdu: 300, mps: 64, count: 5),
        request(.fromSubject, .le2M, 27, sdu: 512, mps: 247),
    ])
    func reachesTheCeiling(_ request: ThroughputRow.Request) throws {
        let rows = try measure(request)
        let row = try #require(rows.first)
        #expect(row.failure == nil && row.tally.isClean)
        #expect(abs(row.percent - 100) < 0.1, "\(row.goodput) of \(row.ceiling?.perInterval ?? 0) kbit/s: \(row.explanation)")
        #expect(row.link?.channels == ChannelLoad(count: request.channel?.count ?? 0, sdu: request.mtu, mps: request.channel?.mps ?? 0))
    }

    @Test func bothWaysReachTheirCeiling() throws {
        var request = Self.request(.toSubject, .le2M, 251)
        request.isBothWays = true
        let rows = try measure(request)
        #expect(rows.map(\.failure) == [nil, nil, nil] && rows.map(\.tally.isClean) == [true, true, true])
        #expect(rows[0].request.direction == .toSubject && rows[1].request.direction == .fromSubject && rows[2].place?.link == nil)
        for row in rows { #expect(abs(row.percent - 100) < 0.5, "\(row.goodput) of \(row.ceiling?.perInterval ?? 0) kbit/s") }
    }

    @Test func severalLinksWithChannels() throws {
        let rows = try measure(Self.request(.fromSubject, .le2M, 251, count: 2, interval: 30_000)) { $0.links = 2 }
        #expect(rows.count == 3 && rows.allSatisfy { $0.failure == nil && $0.tally.isClean && $0.goodput > 0 })
    }

    /// A peer that gives one credit at a time is named, and the missing part adds up.
    @Test func fewCreditsAreNamed() throws {
        let rows = try measure(Self.request(.toSubject, .le2M, 251, credits: 1))
        let row = try #require(rows.first)
        #expect(row.failure == nil && row.limit == .creditsOfChannel && row.percent < 90, "\(row.explanation)")
        let whole = row.missing.reduce(row.goodput) { $0 + $1.kbps }
        var ideal = try #require(row.link)
        ideal.channels?.sdu = 65_535
        #expect(abs(whole - Ceiling(ideal).backToBack) < 1)
    }

    @Test func shortSDUsAndFramesAreNamed() throws {
        let short = try measure(Self.request(.toSubject, .le2M, 251, sdu: 248, mps: 247))
        let sdu = try #require(short.first)
        #expect(sdu.limit == .sdu && sdu.missing.contains { $0.cause == .sdu && $0.text.contains("2 K-frames, the last of 3 octets") })
        let small = try measure(Self.request(.toSubject, .le2M, 251, sdu: 1_000, mps: 50))
        let mps = try #require(small.first)
        #expect(mps.limit == .mps && mps.missing.contains { $0.cause == .mps && $0.kbps > 300 })
    }

    @Test(arguments: [(245, 247, [247]), (246, 247, [247, 1]), (8, 23, [10])])
    func payloadsOfFrames(_ sdu: Int, _ mps: Int, _ payloads: [Int]) {
        #expect(ChannelLoad(sdu: sdu, mps: mps).payloads(ofSDU: sdu) == payloads)
    }

    /// Every rung of the ladder is measured and within a tenth of the talk's figure.
    @Test(arguments: LadderRung.all) func theLadderIsMeasured(_ rung: LadderRung) throws {
        let rows = try measure(rung.request, seconds: 2, valueOctets: rung.valueOctets) {
            ($0.tester.maxExchangesPerEvent, $0.subject.maxExchangesPerEvent) = (rung.exchangesPerEvent, rung.exchangesPerEvent)
        }
        let row = try #require(rows.first)
        #expect(row.failure == nil && row.tally.isClean)
        #expect(abs(row.goodput / rung.published - 1) < 0.1, "\(rung.name): \(row.goodput), published \(rung.published)")
    }

    @Test func plansOfChannels() throws {
        var plan = SweepPlan()
        plan.over = [.channel]
        plan.dataLengths = [27, 251]
        plan.sdus = [nil, 500]
        plan.channels = 3
        try plan.check()
        #expect(plan.rows.map(\.mtu) == [21, 500, 245, 500] && plan.rows.map { $0.channel?.mps } == [23, 23, 247, 247])
        #expect(plan.rows.allSatisfy { $0.channel?.count == 3 && $0.direction == .toSubject })
        for wrong in [22, 65_534] {
            plan.mpss = [wrong]
            #expect(throws: SweepError.self) { try plan.check() }
        }
    }
}
