import Packets
import Testing
import Timing
import Transport

@testable import Conformance

struct EndpointTests {
    /// LE Connection Complete of handle 64, and an ATT_READ_REQ on it.
    static let connected = HCIPacket(
        eventCode: 0x3E, parameters: [0x01, 0, 64, 0, 1, 0, 1, 2, 3, 4, 5, 6, 6, 0, 0, 0, 100, 0, 0])
    static let data = HCIPacket(.acl, [64, 0x20, 7, 0, 3, 0, 4, 0, 0x0A, 1, 0])

    /// What a host would throw away does not count as received.
    @Test(arguments: [([connected, data], 1, 0), ([data, connected], 0, 1), ([data, connected, data], 1, 1)])
    func dataCountsOnceItsConnectionIsKnown(_ packets: [HCIPacket], _ received: Int, _ stray: Int) throws {
        let loop = RunLoop()
        let pair = InProcessTransport.pair(name: "virtual", on: loop)
        let log = ObservationLog(loop: loop)
        let end = Endpoint(.subject, on: pair.host, log: log, recorder: try Recorder(path: nil), loop: loop)
        try end.start()
        for packet in packets { pair.controller.send(packet) }
        try loop.run { try await loop.sleep(for: 1_000) }
        #expect(log.observations.count { $0.name == "ATT_READ_REQ" } == received)
        #expect(end.strayData == stray)
    }
}
