import BBPackets
import BBTiming
import BBTransport
import BBVirtualDongle
import Testing

/// Answers every command with an empty Command Complete.
private final class Yes: HCITransportSink {
    let pipe: InProcessTransport
    init(_ pipe: InProcessTransport) throws {
        self.pipe = pipe
        try pipe.open(self)
    }
    func received(_ packet: HCIPacket, at time: Microseconds) {
        pipe.send(HCIPacket(.event, [0x0E, 4, 1] + packet.bytes[0...1] + [0]))
    }
    func closed(_ reason: TransportError) {}
}

private final class Controllers {
    var made: [Yes] = []
}

/// A client that sends and waits for a number of octets.
private final class Client: ByteStream.Sink {
    private let stream: ByteStream
    private let loop: RunLoop
    private var inbox: [UInt8] = []
    private var wanted: (count: Int, promise: Promise<[UInt8]>)?
    let ended: Promise<Void>

    init(_ address: SocketAddress, on loop: RunLoop) throws {
        self.loop = loop
        ended = Promise(on: loop)
        stream = try ByteStream.connect(to: address, on: loop)
        try stream.open(self)
    }

    func received(_ octets: UnsafeRawBufferPointer) {
        inbox += octets
        settle()
    }

    func ended(_ reason: TransportError) { ended.fulfil(()) }

    func ask(_ octets: [UInt8], for count: Int) async throws -> [UInt8] {
        let promise = Promise<[UInt8]>(on: loop)
        wanted = (count, promise)
        stream.send(octets)
        return try await promise.value(until: loop.now + .seconds(10))
    }

    func send(_ octets: [UInt8]) { stream.send(octets) }
    func leave() { stream.close() }

    private func settle() {
        guard let (count, promise) = wanted, inbox.count >= count else { return }
        wanted = nil
        promise.fulfil(Array(inbox[..<count]))
        inbox.removeFirst(count)
    }
}

@Suite struct USBIPServerTests {
    private static let attach: [UInt8] = [1, 0x11, 0x80, 3, 0, 0, 0, 0] + Array("1-2".utf8) + [UInt8](repeating: 0, count: 29)

    private static func submit(
        _ seqnum: UInt8, isIn: Bool, endpoint: UInt8, length: UInt8, setup: [UInt8] = [UInt8](repeating: 0, count: 8)
    ) -> [UInt8] {
        [0, 0, 0, 1, 0, 0, 0, seqnum, 0, 1, 0, 2, 0, 0, 0, isIn ? 1 : 0, 0, 0, 0, endpoint, 0, 0, 0, 0, 0, 0, 0, length]
            + [UInt8](repeating: 0, count: 12) + setup
    }

    @Test func aClientDrivesItsDongleAndTheNextGetsAFreshOne() throws {
        let loop = RunLoop(mode: .wall)
        let controllers = Controllers()
        let server = try USBIPServer(.tcp(host: "127.0.0.1", port: 0), serialNumbers: ["A", "B"], on: loop) { _ in
            let (host, controller) = InProcessTransport.pair(on: loop)
            controllers.made.append(try Yes(controller))
            return host
        }
        server.start()
        try loop.run {
            for round in 1...2 {
                let client = try Client(server.address, on: loop)
                let reply = try await client.ask(Self.attach, for: 8 + 312)
                #expect(Array(reply[0..<8]) == [1, 0x11, 0, 3, 0, 0, 0, 0])
                client.send(Self.submit(1, isIn: true, endpoint: 1, length: 16))
                let reset = Self.submit(2, isIn: false, endpoint: 0, length: 3, setup: [0x20, 0, 0, 0, 0, 0, 3, 0]) + [0x03, 0x0C, 0]
                let answers = try await client.ask(reset, for: 48 + 48 + 6)
                #expect(answers.suffix(6) == [0x0E, 4, 1, 0x03, 0x0C, 0])
                // A second client is rejected while the first one uses the dongle.
                let other = try Client(server.address, on: loop)
                #expect(try await other.ask(Self.attach, for: 8).last == 1)
                other.leave()
                #expect(controllers.made.count == round)
                if round == 1 {
                    client.leave()
                } else {
                    client.send([9, 9, 9, 9] + [UInt8](repeating: 0, count: 44))
                    try await client.ended.value(until: loop.now + .seconds(10))
                }
                // The list is served once the server has noticed that the client has left.
                let lister = try Client(server.address, on: loop)
                _ = try await lister.ask([1, 0x11, 0x80, 5, 0, 0, 0, 0], for: 12 + 2 * 320)
                lister.leave()
            }
            server.stop()
        }
    }

    /// Clients that attach nothing give way to one that does, and their sessions end by themselves.
    @Test func silentClientsKeepNobodyOut() throws {
        let loop = RunLoop(mode: .wall)
        let controllers = Controllers()
        let server = try USBIPServer(.tcp(host: "127.0.0.1", port: 0), serialNumbers: ["A", "B"], on: loop) { _ in
            let (host, controller) = InProcessTransport.pair(on: loop)
            controllers.made.append(try Yes(controller))
            return host
        }
        server.start()
        try loop.run {
            let first = try Client(server.address, on: loop)
            _ = try await first.ask(Self.attach, for: 8 + 312)
            var silent: [Client] = []
            for _ in 0..<USBIPServer.mostClients {
                silent.append(try Client(server.address, on: loop))
                // The server accepts them on the same loop.
                try await loop.sleep(for: .milliseconds(1))
            }
            try await silent[0].ended.value(until: loop.now + .seconds(60))
            let other = try Client(server.address, on: loop)
            var reply = Self.attach
            reply[10] = UInt8(ascii: "1")
            #expect(try await other.ask(reply, for: 8 + 312).count == 8 + 312)
            #expect(first.ended.result == nil && other.ended.result == nil)
            server.stop()
        }
    }
}
