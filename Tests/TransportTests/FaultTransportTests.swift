import BBBenchTesting
import BBPackets
import BBTiming
import BBTransport
import Testing

@Suite struct FaultTransportTests {
    private struct Row: Sendable, CustomTestStringConvertible {
        var name: String
        var faults: [TransportFault]
        var arrives: [[UInt8]]
        var at: [Microseconds] = []
        var ends = false
        var testDescription: String { name }
    }

    private static let rows: [Row] = [
        Row(name: "none", faults: [], arrives: [[0], [1], [2], [3]], at: [0, 0, 0, 0]),
        Row(name: "drop the second", faults: [TransportFault(.drop, way: .sent, after: 1, times: 1)], arrives: [[0], [2], [3]]),
        Row(name: "other kind", faults: [TransportFault(.drop, way: .sent, kind: .acl)], arrives: [[0], [1], [2], [3]]),
        Row(name: "by prefix", faults: [TransportFault(.drop, way: .sent, kind: .command, prefix: [2])], arrives: [[0], [1], [3]]),
        Row(
            name: "delay keeps the order", faults: [TransportFault(.delay(40), way: .sent, after: 1, times: 1)],
            arrives: [[0], [1], [2], [3]], at: [0, 40, 40, 40]),
        Row(name: "duplicate", faults: [TransportFault(.duplicate, way: .sent, after: 3)], arrives: [[0], [1], [2], [3], [3]]),
        Row(
            name: "corrupt", faults: [TransportFault(.corrupt(offset: 0, mask: 0x80), way: .sent, times: 2)],
            arrives: [[0x80], [0x81], [2], [3]]),
        Row(
            name: "corrupt past the end", faults: [TransportFault(.corrupt(offset: 9, mask: 1), way: .sent)], arrives: [[0], [1], [2], [3]]),
        Row(name: "truncate", faults: [TransportFault(.truncate(to: 0), way: .sent, after: 2, times: 1)], arrives: [[0], [1], [], [3]]),
        Row(name: "silence", faults: [TransportFault(.silence, way: .sent, after: 1)], arrives: [[0]]),
        Row(
            name: "disconnect", faults: [TransportFault(.disconnect, way: .sent, after: 2, times: 1)], arrives: [[0], [1], [3]], ends: true),
        Row(name: "other way", faults: [TransportFault(.drop, way: .received)], arrives: [[0], [1], [2], [3]]),
    ]

    @Test(arguments: rows)
    private func aFaultDoesWhatItSays(row: Row) throws {
        let loop = RunLoop()
        let (host, controller) = InProcessTransport.pair(on: loop)
        let faulty = FaultTransport(host, faults: row.faults, seed: 1, on: loop)
        let hostSink = Gathering()
        let controllerSink = Gathering()
        try faulty.open(hostSink)
        try controller.open(controllerSink)
        try loop.run {
            for octet in 0..<4 { faulty.send(HCIPacket(.command, [UInt8(octet)])) }
            try await loop.sleep(for: 100)
        }
        #expect(controllerSink.packets.map(\.bytes) == row.arrives)
        if !row.at.isEmpty { #expect(controllerSink.times == row.at) }
        #expect(hostSink.reasons.count == (row.ends ? 1 : 0))
        #expect(controllerSink.reasons.count == (row.ends ? 1 : 0))
    }

    @Test func chanceRepeatsWithTheSeed() throws {
        func once(seed: UInt64) throws -> [[UInt8]] {
            let loop = RunLoop()
            let (host, controller) = InProcessTransport.pair(on: loop)
            let faults = [
                TransportFault(.drop, way: .sent, probability: 0.3),
                TransportFault(.corrupt(offset: nil, mask: 1), way: .sent, probability: 0.3),
            ]
            let faulty = FaultTransport(host, faults: faults, seed: seed, on: loop)
            let sink = Gathering()
            try controller.open(sink)
            try loop.run {
                for octet in 0..<200 { faulty.send(HCIPacket(.command, [UInt8(octet), 0, 0, 0])) }
                try await loop.sleep(for: 1)
            }
            return sink.packets.map(\.bytes)
        }
        let first = try once(seed: 1)
        #expect(try once(seed: 1) == first)
        #expect(try once(seed: 2) != first)
        #expect((100..<180).contains(first.count))
    }
}
