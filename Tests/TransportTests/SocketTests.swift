import BenchTesting
import Foundation
import Packets
import Testing
import Timing
import Transport

@Suite struct SocketTests {
    /// What a listener has accepted.
    private final class Accepted {
        var pipes: [H4Transport] = []
        var sinks: [Gathering] = []
        func take(_ stream: ByteStream, echoes: Bool = true) {
            let pipe = H4Transport(stream)
            let sink = Gathering()
            if echoes { sink.onPacket = { [weak pipe] in pipe?.send($0) } }
            pipes.append(pipe)
            sinks.append(sink)
            try? pipe.open(sink)
        }
    }

    private static let unixPath = FileManager.default.temporaryDirectory.appendingPathComponent("bb-\(UUID().uuidString.prefix(8)).sock")
        .path

    @Test(arguments: [SocketAddress.tcp(host: "127.0.0.1", port: 0), .tcp(host: "::1", port: 0), .unix(path: unixPath)])
    func packetsCrossASocketBothWaysAndClosingIsHeardOnce(address: SocketAddress) throws {
        let loop = RunLoop(mode: .wall)
        try loop.run {
            let accepted = Accepted()
            let listener: SocketListener
            do { listener = try SocketListener(address, on: loop) } catch TransportError.unreachable where "\(address)".contains("::1") {
                return
            }
            defer { listener.stop() }
            listener.start { accepted.take($0) }
            let client = try H4Transport.connect(to: listener.address, on: loop)
            let sink = Gathering()
            try client.open(sink)
            for _ in 0..<50 { for packet in sampleStream { client.send(packet) } }
            #expect(try await loop.wait { sink.packets.count == 350 })
            #expect(sink.packets == Array(repeatElement(sampleStream, count: 50).joined()))
            client.close()
            #expect(try await loop.wait { accepted.sinks.first?.reasons.count == 1 })
            #expect(accepted.sinks.first?.reasons == [.lost(listener.address.description)])
            #expect(sink.reasons.isEmpty)
        }
    }

    @Test func aSlowReaderIsHeldAndThenCutOff() throws {
        let loop = RunLoop(mode: .wall)
        try loop.run {
            let listener = try SocketListener(.tcp(host: "127.0.0.1", port: 0), on: loop)
            defer { listener.stop() }
            let accepted = Accepted()
            listener.start { pipe in accepted.pipes.append(H4Transport(pipe)) }
            let client = try H4Transport.connect(to: listener.address, on: loop)
            let sink = Gathering()
            try client.open(sink)
            #expect(try await loop.wait { accepted.pipes.count == 1 })
            let packet = HCIPacket(.acl, [0, 0, 0xFF, 0xFF] + [UInt8](repeating: 0, count: 0xFFFF))
            for _ in 0..<400 { client.send(packet) }
            #expect(try await loop.wait { !sink.reasons.isEmpty })
            guard case .overrun(let dropped)? = sink.reasons.first else {
                Issue.record("\(sink.reasons)")
                return
            }
            #expect(dropped > 1)
            #expect(sink.reasons.count == 1)
        }
    }

    @Test func aStreamThatIsNotHCIClosesThePipeWithTheReason() throws {
        let loop = RunLoop(mode: .wall)
        try loop.run {
            let listener = try SocketListener(.tcp(host: "127.0.0.1", port: 0), on: loop)
            defer { listener.stop() }
            let accepted = Accepted()
            listener.start { accepted.take($0) }
            let client = try H4Transport.connect(to: listener.address, on: loop)
            let sink = Gathering()
            try client.open(sink)
            client.send(HCIPacket(.command, [1, 2, 5]))
            client.send(HCIPacket(.command, [9, 9, 9, 9, 9, 9, 9, 9]))
            #expect(try await loop.wait { !sink.reasons.isEmpty })
            guard case .desynchronised? = accepted.sinks.first?.reasons.first else {
                Issue.record("\(String(describing: accepted.sinks.first?.reasons))")
                return
            }
            #expect(sink.reasons == [.lost(listener.address.description)])
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
