import BBBenchTesting
import BBPackets
import BBTiming
import BBTransport
import BBVirtualDongle
import Testing

/// Controllers that answer every command with Command Complete.
private final class AnsweringBackend: DongleBackend {
    final class Controller: HCITransportSink {
        let pipe: any HCITransport
        var received = 0
        var isClosed = false
        let changed: ConditionVariable
        init(_ pipe: any HCITransport, _ changed: ConditionVariable) throws {
            self.pipe = pipe
            self.changed = changed
            try pipe.open(self)
        }
        func received(_ packet: HCIPacket, at time: Microseconds) {
            received += 1
            if packet.kind == .command { pipe.send(HCIPacket(.event, [0x0E, 4, 1] + packet.bytes.prefix(2) + [0])) }
        }
        func closed(_ reason: TransportError) {
            isClosed = true
            changed.signal()
        }
    }

    let count: Int
    let changed: ConditionVariable
    var controllers: [Controller] = []
    init(count: Int, _ changed: ConditionVariable) {
        self.count = count
        self.changed = changed
    }
    func attach(_ index: Int, to end: any HCITransport) throws {
        controllers.append(try Controller(end, changed))
        changed.signal()
    }
}

private final class Client: HCITransportSink {
    var packets: [HCIPacket] = []
    var isClosed = false
    let changed: ConditionVariable
    init(_ changed: ConditionVariable) { self.changed = changed }
    func received(_ packet: HCIPacket, at time: Microseconds) {
        packets.append(packet)
        changed.signal()
    }
    func closed(_ reason: TransportError) {
        isClosed = true
        changed.signal()
    }
}

/// An H4 server with such controllers, its events, and a condition variable.
private final class ServerBench {
    let loop: RunLoop
    let changed: ConditionVariable
    let backend: AnsweringBackend
    let server: H4DongleServer
    var events: [DongleEvent] = []

    init(_ count: Int, on loop: RunLoop) {
        self.loop = loop
        changed = ConditionVariable(on: loop)
        backend = AnsweringBackend(count: count, changed)
        server = H4DongleServer(backend: backend, on: loop)
        server.onEvent = { [unowned self] in events.append($0) }
    }

    /// Runs a test in wall time with a server, which is stopped afterwards.
    static func run(controllers count: Int, _ body: @escaping (ServerBench) async throws -> Void) throws {
        let loop = RunLoop(mode: .wall)
        try loop.run {
            let bench = ServerBench(count, on: loop)
            defer { bench.server.stop() }
            try await body(bench)
        }
    }

    func offer(_ controller: Int = 0) throws -> SocketAddress { try server.offer(controller, at: .tcp(host: "127.0.0.1", port: 0)) }
}

private final class Octets: ByteStream.Sink {
    var octets: [UInt8] = []
    var isEnded = false
    func received(_ octets: UnsafeRawBufferPointer) { self.octets += octets }
    func ended(_ reason: TransportError) { isEnded = true }
}

@Suite struct ServerTests {
    private static let reset = HCIPacket(.command, [0x03, 0x0C, 0x00])

    @Test func aControllerServesOneClientAtATimeAndIsFreshForTheNext() throws {
        try ServerBench.run(controllers: 2) { bench in
            let addresses = try [bench.offer(0), bench.offer(1)]
            #expect(addresses[0] != addresses[1])
            for round in 1...3 {
                let (sink, second) = (Client(bench.changed), Client(bench.changed))
                let client = try H4Transport.connect(to: addresses[0], on: bench.loop)
                try client.open(sink)
                client.send(Self.reset)
                try await bench.changed.wait(for: "an answer") { sink.packets.count == 1 }
                let intruder = try H4Transport.connect(to: addresses[0], on: bench.loop)
                try intruder.open(second)
                try await bench.changed.wait(for: "the second client to be sent away") { second.isClosed }
                client.send(Self.reset)
                try await bench.changed.wait(for: "a second answer") { sink.packets.count == 2 }
                client.close()
                try await bench.changed.wait(for: "the controller to be let go") { bench.backend.controllers.last?.isClosed == true }
                #expect(bench.backend.controllers.count == round)
            }
            #expect(bench.events.count == 9)
            bench.server.stop()
            #expect(throws: TransportError.self) { try H4Transport.connect(to: addresses[0], on: bench.loop) }
        }
    }

    @Test func aClientThatCallsAgainBeforeItsOldEndIsSeenIsServed() throws {
        try ServerBench.run(controllers: 1) { bench in
            let address = try bench.offer()
            var client = try H4Transport.connect(to: address, on: bench.loop)
            for _ in 1...10 {
                let sink = Client(bench.changed)
                try client.open(sink)
                client.send(Self.reset)
                try await bench.changed.wait(for: "an answer") { sink.packets.count == 1 }
                let next = try H4Transport.connect(to: address, on: bench.loop)
                client.close()
                client = next
            }
            #expect(!bench.events.contains(.refused(controller: 0)))
            client.close()
        }
    }

    @Test func aClientThatDoesNotReadIsDroppedAndNamed() throws {
        try ServerBench.run(controllers: 1) { bench in
            let client = try ByteStream.connect(to: try bench.offer(), on: bench.loop)
            try await bench.changed.wait(for: "the client to have its controller") { bench.backend.controllers.count == 1 }
            let controller = bench.backend.controllers[0]
            let packet = HCIPacket(.acl, [0, 0, 0xFF, 0xFF] + [UInt8](repeating: 0, count: 0xFFFF))
            for _ in 0..<400 { controller.pipe.send(packet) }
            try await bench.changed.wait(for: "the client to be dropped") { controller.isClosed }
            guard case .failed(0, let reason)? = bench.events.last else {
                Issue.record("\(bench.events)")
                return
            }
            #expect(reason.contains("dropped"))
            client.close()
        }
    }

    @Test func noClientEndsTheServer() throws {
        try ServerBench.run(controllers: 1) { bench in
            let loop = bench.loop
            let usbip = try USBIPServer(.tcp(host: "127.0.0.1", port: 0), serialNumbers: ["BB-1"], on: loop) {
                try bench.backend.pipe(to: $0, on: loop)
            }
            usbip.start()
            defer { usbip.stop() }
            let addresses = try [bench.offer(), usbip.address]
            var random = RandomSource(seed: 3)
            for round in 0..<60 {
                let sink = Octets()
                let stream = try ByteStream.connect(to: addresses[round % 2], on: loop)
                try stream.open(sink)
                let valid: [UInt8] =
                    round % 4 == 1 ? [0x01, 0x11, 0x80, 0x03, 0, 0, 0, 0] + Array("1-1".utf8) + [UInt8](repeating: 0, count: 29) : []
                stream.send(valid + random.octets(Int.random(in: 1...400, using: &random)))
                // Some clients disconnect before the server has read everything, some after it.
                for _ in 0..<(round % 3 == 0 ? 10 : 1) { try await loop.sleep(for: .zero) }
                stream.close()
            }
            let sink = Client(bench.changed)
            let client = try H4Transport.connect(to: addresses[0], on: loop)
            try client.open(sink)
            client.send(Self.reset)
            try await bench.changed.wait(for: "an answer") { sink.packets.count == 1 }
        }
    }
}
