import BBBenchTesting
import BBPackets
import BBTiming
import BBTransport
import Foundation
import Testing

@Suite struct SocketTests {
    /// Connections accepted by a listener.
    private final class Accepted {
        var pipes: [H4Transport] = []
        var sinks: [Gathering] = []

        /// Returns received packets.
        func echo(_ pipe: H4Transport, _ changed: ConditionVariable) {
            let sink = Gathering(changed)
            sink.onPacket = { [weak pipe] in pipe?.send($0) }
            sinks.append(sink)
            try? pipe.open(sink)
        }
    }

    /// A client of a listener.
    private struct Bench {
        let listener: SocketListener
        let accepted = Accepted()
        let changed: ConditionVariable
        let client: H4Transport
        let sink: Gathering

        init(_ address: SocketAddress, on loop: BBTiming.RunLoop, isEchoed: Bool) throws {
            let (listener, accepted, changed) = (try SocketListener(address, on: loop), accepted, ConditionVariable(on: loop))
            listener.start { stream in
                let pipe = H4Transport(stream)
                accepted.pipes.append(pipe)
                if isEchoed { accepted.echo(pipe, changed) }
                changed.signal()
            }
            (self.listener, self.changed) = (listener, changed)
            client = try H4Transport.connect(to: listener.address, on: loop)
            sink = Gathering(changed)
            try client.open(sink)
        }

        static func run(
            _ address: SocketAddress = .tcp(host: "127.0.0.1", port: 0), isEchoed: Bool = true,
            _ body: @escaping (Bench) async throws -> Void
        ) throws {
            let loop = RunLoop(mode: .wall)
            try loop.run {
                let bench = try Bench(address, on: loop, isEchoed: isEchoed)
                defer { bench.listener.stop() }
                try await body(bench)
            }
        }
    }

    private static let unixPath = FileManager.default.temporaryDirectory.appendingPathComponent("bb-\(UUID().uuidString.prefix(8)).sock")
        .path

    @Test(arguments: [SocketAddress.tcp(host: "127.0.0.1", port: 0), .tcp(host: "::1", port: 0), .unix(path: unixPath)])
    func packetsCrossASocketBothWaysAndClosingIsHeardOnce(address: SocketAddress) throws {
        do {
            try Bench.run(address) { bench in
                for _ in 0..<50 { for packet in sampleStream { bench.client.send(packet) } }
                try await bench.changed.wait(for: "the echo of 350 packets") { bench.sink.packets.count == 350 }
                #expect(bench.sink.packets == Array(repeatElement(sampleStream, count: 50).joined()))
                bench.client.close()
                try await bench.changed.wait(for: "the end to be heard") { bench.accepted.sinks.first?.reasons.count == 1 }
                #expect(bench.accepted.sinks.first?.reasons == [.lost(bench.listener.address.description)])
                #expect(bench.sink.reasons.isEmpty)
            }
        } catch TransportError.unreachable where "\(address)".contains("::1") {
            // The machine has no IPv6.
        }
    }

    @Test func aSlowReaderIsHeldAndThenCutOff() throws {
        try Bench.run(isEchoed: false) { bench in
            try await bench.changed.wait(for: "the client to be accepted") { bench.accepted.pipes.count == 1 }
            let packet = HCIPacket(.acl, [0, 0, 0xFF, 0xFF] + [UInt8](repeating: 0, count: 0xFFFF))
            for _ in 0..<400 { bench.client.send(packet) }
            try await bench.changed.wait(for: "the client to be cut off") { !bench.sink.reasons.isEmpty }
            guard case .overrun(let dropped)? = bench.sink.reasons.first else {
                Issue.record("\(bench.sink.reasons)")
                return
            }
            #expect(dropped > 1)
            #expect(bench.sink.reasons.count == 1)
        }
    }

    @Test func aStreamThatIsNotHCIClosesThePipeWithTheReason() throws {
        try Bench.run { bench in
            bench.client.send(HCIPacket(.command, [1, 2, 5]))
            bench.client.send(HCIPacket(.command, [9, 9, 9, 9, 9, 9, 9, 9]))
            try await bench.changed.wait(for: "the client to be cut off") { !bench.sink.reasons.isEmpty }
            guard case .desynchronised? = bench.accepted.sinks.first?.reasons.first else {
                Issue.record("\(String(describing: bench.accepted.sinks.first?.reasons))")
                return
            }
            #expect(bench.sink.reasons == [.lost(bench.listener.address.description)])
        }
    }

    @Test func portsInUseAndPortsWithNobodyAreToldApart() throws {
        let loop = RunLoop(mode: .wall)
        let listener = try SocketListener(.tcp(host: "127.0.0.1", port: 0), on: loop)
        #expect(throws: TransportError.busy(listener.address.description)) { try SocketListener(listener.address, on: loop) }
        listener.stop()
        #expect(throws: TransportError.unreachable("\(listener.address): Connection refused")) {
            try H4Transport.connect(to: listener.address, on: loop)
        }
        #expect(throws: TransportError.self) { try H4Transport.connect(to: .unix(path: "/nonexistent"), on: loop) }
        #expect(throws: TransportError.self) { try H4Transport.serial("/dev/null", on: loop) }
    }
}
