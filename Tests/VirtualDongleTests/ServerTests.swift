import BenchTesting
import Packets
import Testing
import Timing
import Transport
import VirtualDongle

/// Controllers that answer every command with Command Complete.
private final class AnsweringBackend: DongleBackend {
    final class Controller: HCITransportSink {
        let pipe: any HCITransport
        var received = 0
        var isClosed = false
        init(_ pipe: any HCITransport) throws {
            self.pipe = pipe
            try pipe.open(self)
        }
        func received(_ packet: HCIPacket, at time: Microseconds) {
            received += 1
            if packet.kind == .command { pipe.send(HCIPacket(.event, [0x0E, 4, 1] + packet.bytes.prefix(2) + [0])) }
        }
        func closed(_ reason: TransportError) { isClosed = true }
    }

    let count: Int
    var controllers: [Controller] = []
    init(count: Int) { self.count = count }
    func attach(_ index: Int, to end: any HCITransport) throws { controllers.append(try Controller(end)) }
}

private final class Client: HCITransportSink {
    var packets: [HCIPacket] = []
    var isClosed = false
    func received(_ packet: HCIPacket, at time: Microseconds) { packets.append(packet) }
    func closed(_ reason: TransportError) { isClosed = true }
}

private final class Events {
    var list: [DongleEvent] = []
}

private final class Octets: ByteStream.Sink {
    var octets: [UInt8] = []
    var isEnded = false
    func received(_ octets: UnsafeRawBufferPointer) { self.octets += octets }
    func ended(_ reason: TransportError) { isEnded = true }
}

@Suite struct ServerTests {
    private static let reset = HCIPacket(.command, [0x03, 0x0C, 0x00])
    private static let local = SocketAddress.tcp(host: "127.0.0.1", port: 0)

    @Test func aControllerServesOneClientAtATimeAndIsFreshForTheNext() throws {
        let loop = RunLoop(mode: .wall)
        try loop.run {
            let backend = AnsweringBackend(count: 2)
            let events = Events()
            let server = H4DongleServer(backend: backend, on: loop)
            server.onEvent = { events.list.append($0) }
            let addresses = try [server.offer(0, at: Self.local), server.offer(1, at: Self.local)]
            #expect(addresses[0] != addresses[1])
            for round in 1...3 {
                let (sink, second) = (Client(), Client())
                let client = try H4Transport.connect(to: addresses[0], on: loop)
                try client.open(sink)
                client.send(Self.reset)
                #expect(try await loop.wait { sink.packets.count == 1 })
                let intruder = try H4Transport.connect(to: addresses[0], on: loop)
                try intruder.open(second)
                #expect(try await loop.wait { second.isClosed })
                client.send(Self.reset)
                #expect(try await loop.wait { sink.packets.count == 2 })
                client.close()
                #expect(try await loop.wait { backend.controllers.last?.isClosed == true })
                #expect(backend.controllers.count == round)
            }
            #expect(events.list.count == 9)
            server.stop()
            #expect(throws: TransportError.self) { try H4Transport.connect(to: addresses[0], on: loop) }
        }
    }

    @Test func aClientThatCallsAgainBeforeItsOldEndIsSeenIsServed() throws {
        let loop = RunLoop(mode: .wall)
        try loop.run {
            let backend = AnsweringBackend(count: 1)
            let events = Events()
            let server = H4DongleServer(backend: backend, on: loop)
            server.onEvent = { events.list.append($0) }
            let address = try server.offer(0, at: Self.local)
            var client = try H4Transport.connect(to: address, on: loop)
            for _ in 1...10 {
                let sink = Client()
                try client.open(sink)
                client.send(Self.reset)
                #expect(try await loop.wait { sink.packets.count == 1 })
                let next = try H4Transport.connect(to: address, on: loop)
                client.close()
                client = next
            }
            #expect(!events.list.contains(.refused(controller: 0)))
            client.close()
            server.stop()
        }
    }

    @Test func aClientThatDoesNotReadIsDroppedAndNamed() throws {
        let loop = RunLoop(mode: .wall)
        try loop.run {
            let backend = AnsweringBackend(count: 1)
            let events = Events()
            let server = H4DongleServer(backend: backend, on: loop)
            server.onEvent = { events.list.append($0) }
            let client = try ByteStream.connect(to: try server.offer(0, at: Self.local), on: loop)
            #expect(try await loop.wait { backend.controllers.count == 1 })
            let packet = HCIPacket(.acl, [0, 0, 0xFF, 0xFF] + [UInt8](repeating: 0, count: 0xFFFF))
            for _ in 0..<400 { backend.controllers[0].pipe.send(packet) }
            #expect(try await loop.wait { backend.controllers[0].isClosed })
            guard case .failed(0, let reason)? = events.list.last else {
                Issue.record("\(events.list)")
                return
            }
            #expect(reason.contains("dropped"))
            client.close()
            server.stop()
        }
    }

    @Test func noClientEndsTheServer() throws {
        let loop = RunLoop(mode: .wall)
        try loop.run {
            let backend = AnsweringBackend(count: 1)
            let h4 = H4DongleServer(backend: backend, on: loop)
            let usbip = try USBIPServer(Self.local, serialNumbers: ["BB-1"], on: loop) { try backend.pipe(to: $0, on: loop) }
            usbip.start()
            let addresses = try [h4.offer(0, at: Self.local), usbip.address]
            var random = RandomSource(seed: 3)
            for round in 0..<60 {
                let sink = Octets()
                let stream = try ByteStream.connect(to: addresses[round % 2], on: loop)
                try stream.open(sink)
                let valid: [UInt8] =
                    round % 4 == 1 ? [0x01, 0x11, 0x80, 0x03, 0, 0, 0, 0] + Array("1-1".utf8) + [UInt8](repeating: 0, count: 29) : []
                stream.send(valid + random.octets(Int.random(in: 1...400, using: &random)))
                try await loop.sleep(for: round % 3 == 0 ? 3_000 : 300)
                stream.close()
            }
            let sink = Client()
            let client = try H4Transport.connect(to: addresses[0], on: loop)
            try await loop.sleep(for: 2_000)
            try client.open(sink)
            client.send(Self.reset)
            #expect(try await loop.wait { sink.packets.count == 1 })
            h4.stop()
            usbip.stop()
        }
    }
}
