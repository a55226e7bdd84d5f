import BBBenchTesting
import BBPackets
import BBSimulation
import BBTiming
import BBTransport
import Testing

@testable import BBThroughput

/// The loopback test on a virtual controller behind a pipe with 1 ms latency in each direction and injected faults.
@Suite struct LoopbackTests {
    private static func measure(
        _ plan: LoopbackPlan, faults: [TransportFault] = [], voice: UInt16 = 0, voicePace: VoicePace? = nil
    ) throws -> LoopbackResult {
        try World.run { world -> Result<LoopbackResult, any Error> in
            let (host, controller) = InProcessTransport.pair(on: world.loop, latency: .milliseconds(1))
            var configuration = ControllerConfiguration(address: DeviceAddress(value: 0x02BB_0000_0001))
            (configuration.synchronousLength, configuration.synchronousCount) = (voice > 0 ? 60 : 0, voice)
            try world.simulation.addController(configuration, on: controller)
            let transport = FaultTransport(host, faults: faults, seed: 1, on: world.loop)
            world.atEnd { transport.close() }
            let bench = LoopbackBench(plan, on: transport, loop: world.loop) { _, longest throws(LoopbackError) in
                voicePace ?? VoicePace(octets: longest, interval: .milliseconds(3))
            }
            do { return .success(try await bench.measure()) } catch { return .failure(error) }
        }.get()
    }

    private static func plan(_ packets: Int = 1_000, octets: Int? = nil) -> LoopbackPlan {
        var plan = LoopbackPlan()
        (plan.packets, plan.octets) = (packets, octets)
        return plan
    }

    @Test func theBuffersAreTheLimitOfAPipeWithADelay() throws {
        let result = try Self.measure(Self.plan())
        #expect(result.isClean && result.sent == 1_000 && result.octets == 251 && result.buffers == 8)
        #expect(result.limit == .credits)
        // Eight packets per round trip.
        #expect((3_900...4_100).contains(result.packetsPerSecond), "\(result.packetsPerSecond)")
        #expect(result.worstRoundTrip == .milliseconds(2) && result.meanRoundTrip == .milliseconds(2))
        #expect(result.explanation.hasPrefix("99 % of the time all 8 buffers of 251 octets"), "\(result.explanation)")
    }

    @Test func aFullPipeIsNamed() throws {
        var plan = Self.plan()
        plan.pipe = LoopbackPipe(name: "a slow pipe", octetsPerSecond: 4_000 * 255, isShared: false)
        let result = try Self.measure(plan)
        #expect(result.limit == .transport && result.explanation.contains("a slow pipe is full: 100 %"), "\(result.explanation)")
    }

    struct Failing: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var fault: TransportFault
        var counts: [Int]
    }

    /// Lost, duplicated, out of order, corrupted.
    @Test(arguments: [
        Failing(
            testDescription: "lost on the way there", fault: .init(.drop, way: .sent, kind: .acl, after: 500, times: 1),
            counts: [1, 0, 0, 0]),
        Failing(
            testDescription: "the last ones lost on the way back", fault: .init(.drop, way: .received, kind: .acl, after: 997),
            counts: [3, 0, 0, 0]),
        Failing(
            testDescription: "doubled", fault: .init(.duplicate, way: .received, kind: .acl, after: 3, times: 2), counts: [0, 2, 0, 0]),
        Failing(
            testDescription: "damaged", fault: .init(.corrupt(offset: 20, mask: 1), way: .received, kind: .acl, after: 9, times: 1),
            counts: [1, 0, 0, 1]),
        Failing(
            testDescription: "cut short", fault: .init(.truncate(to: 40), way: .received, kind: .acl, after: 9, times: 1),
            counts: [1, 0, 0, 1]),
    ])
    func whatGoesWrongIsCounted(_ failing: Failing) throws {
        let result = try Self.measure(Self.plan(), faults: [failing.fault])
        #expect([result.lost, result.duplicated, result.reordered, result.corrupted] == failing.counts)
        #expect(!result.isClean)
    }

    /// Without reports of free buffers nothing more can be sent: returned packets alone do not make it a success.
    @Test func aControllerThatReportsNoBuffersIsNoSuccess() throws {
        let fault = TransportFault(.drop, way: .received, kind: .event, prefix: [HCIEvents.NumberOfCompletedPackets.code])
        let result = try Self.measure(Self.plan(), faults: [fault])
        #expect(result.sent == 8 && result.returned == 8 && result.lost == 0)
        #expect(!result.isClean)
    }

    @Test(arguments: [
        (TransportFault(.drop, way: .sent, prefix: [0x03, 0x0C]), LoopbackError.unanswered("Reset")),
        (TransportFault(.drop, way: .received, prefix: [0x0E, 4, 1, 0x02, 0x18]), .unanswered("Write_Loopback_Mode")),
        (
            TransportFault(.corrupt(offset: 5, mask: 0x01), way: .received, prefix: [0x0E, 4, 1, 0x02, 0x18]),
            .refused(command: "Write_Loopback_Mode", .unknownHCICommand)
        ),
        (TransportFault(.drop, way: .received, prefix: [0x03]), .noHandle(.data)),
        (TransportFault(.disconnect, way: .sent, kind: .acl, after: 100), .transport(.lost("virtual"))),
    ])
    func whyItCannotBeDoneIsSaid(_ fault: TransportFault, _ error: LoopbackError) throws {
        #expect(throws: error) { try Self.measure(Self.plan(), faults: [fault]) }
    }

    @Test func lengthsThatDoNotFitAreRefused() throws {
        for octets in [0, 7, 252] {
            #expect(throws: LoopbackError.wrongLength(octets, 8...251)) { try Self.measure(Self.plan(octets: octets)) }
        }
        #expect(try Self.measure(Self.plan(20, octets: 8)).isClean)
    }

    @Test func voiceKeepsItsPaceAndItsHandlesTakeTurns() throws {
        var plan = Self.plan(300)
        plan.channel = .voice
        #expect(throws: LoopbackError.noBuffers(.voice)) { try Self.measure(plan) }
        let result = try Self.measure(plan, voice: 3, voicePace: VoicePace(octets: 48, interval: .milliseconds(3)))
        #expect(result.isClean && result.handles == 3 && result.octets == 48 && result.limit == nil)
        #expect(result.time == .milliseconds(299 * 3 + 2))
        let lossy = try Self.measure(plan, faults: [.init(.drop, way: .received, kind: .sco, after: 7, times: 1)], voice: 2)
        #expect(lossy.lost == 1 && !lossy.isClean)
    }
}
