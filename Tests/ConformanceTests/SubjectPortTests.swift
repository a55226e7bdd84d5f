import BBPackets
import BBTiming
import BBTransport
import Testing

@testable import BBConformance

/// A foreign accessory's host disconnects from its port.
struct SubjectPortTests {
    private final class Deaf: HCITransportSink {
        func received(_ packet: HCIPacket, at time: Microseconds) {}
        func closed(_ reason: TransportError) {}
    }

    /// It ends the current case at once, and each later case before it starts; this is not counted against the accessory.
    @Test func aHostThatLeavesEndsItsCaseAtOnce() throws {
        let port = try SubjectPort(.tcp(host: "127.0.0.1", port: 0), seed: 1)
        let host = try H4Transport.connect(to: port.address, on: port.loop)
        let deaf = Deaf()
        try host.open(deaf)
        try port.waitForHost(.seconds(300))
        let setup = BenchSetup(tester: .virtual, subject: nil, seed: 1)
        let plan = try RunPlan(catalogue: try SuiteTests.catalogue(), setup: setup, filters: ["gatt/read*"])
        #expect(plan.cases.count > 1)
        port.loop.schedule(after: .milliseconds(300)) { host.close() }
        let result = try Runner(plan, recorder: try Recorder(path: nil), port: port).run()
        #expect(result.cases.allSatisfy { $0.verdict == .inconclusive })
        #expect(result.cases[0].message.contains("host left"), "\(result.cases[0].message)")
        for later in result.cases.dropFirst() { #expect(later.message.contains("host has left"), "\(later.message)") }
    }
}
