import BBHCI
import BBPackets
import Testing

@testable import BBCases
@testable import BBConformance

/// A connection lost while a response of the device is awaited.
@Suite struct LostLinkTests {
    struct Row: Sendable, CustomTestStringConvertible {
        var reason: ErrorCode
        var verdict: Verdict
        var text: String
        var testDescription: String { "\(reason)" }
    }

    static let rows = [
        Row(reason: .connectionFailedToBeEstablished, verdict: .inconclusive, text: "where ATT_ERROR_RSP was awaited"),
        Row(reason: .connectionTimeout, verdict: .inconclusive, text: "where ATT_ERROR_RSP was awaited"),
        Row(reason: .remoteUserTerminatedConnection, verdict: .fail, text: "in place of ATT_ERROR_RSP"),
    ]

    /// The case does not wait 30 s for a response on a lost link. The loss is not counted against the device at once, but a disconnection
    /// by the device is.
    @Test(arguments: rows) func theEndOfTheLinkIsToldAtOnce(_ row: Row) throws {
        let result = try Trial.run("accessory-att/handle-zero[request=write]", at: .tester) { direction, packet in
            // Replace the response of the device by the end of the link.
            guard direction == .toHost, let handle = packet.dataHandle else { return [packet] }
            return [HCIPacket(event: HCIEvents.DisconnectionComplete(connectionHandle: handle, reason: row.reason))]
        }
        #expect(result.verdict == row.verdict, "\(result.message)")
        #expect(result.message.contains(row.text) && result.message.contains("\(row.reason)"), "\(result.message)")
        #expect(result.virtualMilliseconds < 20_000)
        #expect((result.lostLink?.isJudged ?? true) && (result.lostLink != nil) == (row.verdict == .inconclusive))
    }

    /// With a packet error rate of 0.3 some of these runs lose CONNECT_IND. The tester connects again, and the device has its verdict.
    @Test func aLostConnectIndLeadsToAnotherAttempt() throws {
        let catalogue = try SuiteTests.catalogue()
        var lost = 0
        for seed in UInt64(1)...12 {
            var plan = try RunPlan(
                catalogue: catalogue, setup: BenchSetup(tester: .virtual, subject: .virtual, seed: seed),
                filters: ["accessory-att/handle-zero[request=write]"])
            plan.keepsTraces = true
            var surroundings = World()
            surroundings.packetErrorRate = 0.3
            let run = try Runner(plan, recorder: try Recorder(path: nil), surroundings: surroundings).run()
            let result = try #require(run.cases.first)
            #expect(result.verdict == .pass, "seed \(seed): \(result.message)")
            lost +=
                result.trace?.packets.count {
                    $0.name == "Disconnection_Complete" && $0.fields.contains("Reason=Connection_Failed_To_Be_Established")
                } ?? 0
        }
        #expect(lost > 0)
    }
}
