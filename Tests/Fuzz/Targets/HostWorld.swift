import BBHost
import BBPackets
import BBSimulation
import BBTiming
import BBTransport

/// A pipe between a host and its controller that can inject packets.
final class Tap {
    private final class Relay: HCITransportSink {
        let next: InProcessTransport
        init(_ next: InProcessTransport) { self.next = next }
        func received(_ packet: HCIPacket, at time: Microseconds) { next.send(packet) }
        func closed(_ reason: TransportError) { next.close() }
    }

    let hostEnd: InProcessTransport
    let controllerEnd: InProcessTransport
    private let towardsHost: InProcessTransport

    init(on loop: RunLoop) throws {
        let near = InProcessTransport.pair(on: loop)
        let far = InProcessTransport.pair(on: loop)
        (hostEnd, towardsHost, controllerEnd) = (near.host, near.controller, far.controller)
        try near.controller.open(Relay(far.host))
        try far.host.open(Relay(near.controller))
    }

    /// Sends a packet to the host as if from the controller.
    func inject(_ packet: HCIPacket) { towardsHost.send(packet) }
}

/// Two hosts with a link between them.
final class HostWorld {
    let loop = RunLoop()
    let taps: [Tap]
    let hosts: [Host]
    private(set) var links: [Connection] = []
    private let simulation: Simulation

    init() throws {
        simulation = Simulation(loop: loop, seed: 1)
        taps = [try Tap(on: loop), try Tap(on: loop)]
        hosts = taps.map { [loop] in Host(loop: loop, transport: $0.hostEnd, database: Self.database(), seed: 1) }
        for (index, tap) in taps.enumerated() {
            let configuration = ControllerConfiguration(address: RawWorld.address(index))
            try simulation.addController(configuration, on: tap.controllerEnd)
        }
    }

    private static func database() -> GATTDatabase {
        let database = GATTDatabase(deviceName: "fuzz")
        database.add(
            ServiceDefinition(
                0xFFF0,
                characteristics: [
                    CharacteristicDefinition(0xFFF1, properties: [.read, .write], value: [UInt8](0..<60), maximumLength: 64),
                    CharacteristicDefinition(0xFFF2, properties: [.notify, .indicate]),
                    CharacteristicDefinition(0xFFF3, properties: [.write, .writeWithoutResponse], maximumLength: 4),
                ]))
        return database
    }

    /// Runs `body` on a new link and shuts everything down.
    func run(_ body: @escaping (HostWorld) async throws -> Void) throws {
        try loop.run { [self] in
            for host in hosts { try await host.start() }
            _ = try await hosts[1].advertise(AdvertisingSettings(data: AdvertisingData([.completeLocalName("fuzz")])))
            var settings = ConnectSettings()
            settings.parameters = ConnectionParameterRequest(interval: 6)
            let near = try await hosts[0].connect(to: RawWorld.address(1), settings)
            links = [near, try await hosts[1].nextIncomingConnection(within: .seconds(1))]
            try await body(self)
            links = []
            for host in hosts { host.close() }
            try await loop.sleep(for: .seconds(1))
        }
    }
}
