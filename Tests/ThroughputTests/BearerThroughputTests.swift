import BBBenchTesting
import BBHost
import BBPackets
import BBTiming
import Foundation
import Testing

@testable import BBThroughput

/// Flows over Enhanced ATT bearers. Tests/Reference compares the independent model and the air log.
@Suite struct BearerThroughputTests {
    private func measure(_ request: ThroughputRow.Request, hasBearers: Bool = true) throws -> [ThroughputRow] {
        var settings = VirtualPair.Settings()
        settings.hasEnhancedBearers = hasBearers
        return try World.run { world in
            let pair = try VirtualPair(settings, loop: world.loop)
            world.atEnd { for end in pair.bench.allEnds { end.host.close() } }
            try await pair.bench.start()
            guard request.isBothWays else { return [await pair.bench.measure(request, seconds: 1)] }
            return await pair.bench.measureTogether(request, seconds: 1)
        }
    }

    static func request(_ over: FlowKind, _ bearers: Int, _ direction: FlowDirection? = nil, mtu: Int = 245) -> ThroughputRow.Request {
        .init(
            over: over, bearers: bearers, direction: direction ?? (over == .notify ? .fromSubject : .toSubject), phy: .le2M,
            dataLength: 251, mtu: mtu, interval: 15_000)
    }

    @Test(arguments: [
        request(.notify, 1), request(.notify, 3), request(.write, 2), request(.write, 5, mtu: 512), request(.notify, 4, mtu: 64),
        request(.notify, 2, .toSubject), request(.write, 2, .fromSubject), request(.request, 4), request(.request, 5, mtu: 512),
        request(.notify, 2, mtu: 516), request(.write, 3, mtu: 517), request(.notify, 1, .toSubject, mtu: 517),
        request(.request, 5, mtu: 517),
    ])
    func reachesTheCeiling(_ request: ThroughputRow.Request) throws {
        let row = try #require(try measure(request).first)
        #expect(row.failure == nil && row.isWhole && row.isEncrypted, "\(row.failure ?? "")")
        #expect(abs(row.percent - 100) < 0.5, "\(row.goodput) of \(row.ceiling?.perInterval ?? 0) kbit/s: \(row.explanation)")
        #expect(row.link?.channels?.count == request.bearers && row.link?.mtu == request.mtu)
        #expect(row.octets == row.packets * min(512, request.mtu - 3))
    }

    /// Requests in a connection event: a response takes the event after its request, until enough of both are on their way.
    @Test(arguments: [(1, 0.5), (2, 1), (3, 2), (4, 10)]) func requestsSideBySide(_ bearers: Int, _ perEvent: Double) throws {
        let row = try #require(try measure(Self.request(.request, bearers)).first)
        #expect(row.failure == nil && abs(Double(row.packets) / Double(row.events) - perEvent) < 0.05 * perEvent)
        #expect(row.limit == (bearers < 4 ? .acknowledgement : .air))
        let times = try #require(row.roundTrips)
        let span = Double((row.end - row.begin).rawValue)
        #expect(abs(times.mean * Double(row.packets) / span - Double(bearers)) < 0.1 * Double(bearers))
        let text = bearers == 1 ? "each operation waits" : "\(bearers) operations at once"
        #expect(bearers == 4 || row.explanation.contains(text), "\(row.explanation)")
    }

    @Test func bothWays() throws {
        var request = Self.request(.notify, 3)
        request.isBothWays = true
        let rows = try measure(request)
        #expect(rows.count == 3 && rows.allSatisfy { $0.failure == nil && $0.isWhole })
        for row in rows { #expect(abs(row.percent - 100) < 0.5, "\(row.goodput) of \(row.ceiling?.perInterval ?? 0) kbit/s") }
        #expect(rows[2].together?.contains("3 bearers") == true)
    }

    @Test func aServerWithoutBearersIsNamed() throws {
        let row = try #require(try measure(Self.request(.request, 2), hasBearers: false).first)
        #expect(row.failure?.contains("no Enhanced ATT bearers") == true && !row.isEnvironment)
    }

    @Test func theOrderOfBearersIsFree() {
        var tally = FlowTally()
        for sequence: UInt32 in [0, 2, 1] { tally.add(FlowPacket.make(sequence: sequence, count: 20).span.bytes) }
        #expect(tally.reordered == 1 && !tally.isClean)
        for (bearers, isWhole) in [(1, false), (2, true)] {
            var row = ThroughputRow(Self.request(.write, bearers))
            row.tally = tally
            #expect(row.isWhole == isWhole)
        }
    }

    /// The MTU for which none is chosen: K-frames that fill whole link layer packets, and the usual one on the fixed channel.
    @Test(arguments: [(251, 245), (27, 237), (100, 194), (126, 120)]) func theDefaultFillsPackets(_ length: Int, _ mtu: Int) throws {
        var plan = SweepPlan()
        (plan.dataLengths, plan.bearers) = ([length], [nil, 2])
        try plan.check()
        #expect(plan.rows.map(\.mtu) == [247, mtu])
        #expect((4 + 2 + mtu) % length == 0)
    }

    @Test func theDefaultLosesNothing() throws {
        var plan = SweepPlan()
        plan.bearers = [1]
        let request = try #require(plan.rows.first)
        let row = try #require(try measure(request).first)
        #expect(row.failure == nil && row.limit != .mps && abs(row.percent - 100) < 0.5, "\(row.explanation)")
    }

    @Test func rowsOfAPlan() throws {
        var plan = SweepPlan()
        plan.over = [.request, .write]
        plan.bearers = [nil, 1, 3]
        try plan.check()
        #expect(
            plan.rows.map(\.bearers) == [nil, 1, 3, nil, 1, 3] && plan.rows.map(\.isEncrypted) == [false, true, true, false, true, true])
        let json = try JSONEncoder().encode(ThroughputRow(plan.rows[2]))
        let fields = try #require(try JSONSerialization.jsonObject(with: json) as? [String: Any])
        #expect(fields["bearers"] as? Int == 3 && fields["channels"] == nil && fields["mps"] as? Int == 247)
        let wrong: [(SweepPlan) -> SweepPlan] = [
            {
                var plan = $0
                plan.bearers = [6]
                return plan
            },
            {
                var plan = $0
                plan.bearers = []
                return plan
            },
            {
                var plan = $0
                plan.mtus = [63]
                return plan
            },
            {
                var plan = $0
                plan.over = [.ping]
                return plan
            },
        ]
        for change in wrong { #expect(throws: SweepError.self) { try change(plan).check() } }
    }
}
