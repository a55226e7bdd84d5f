import BBBenchTesting
import BBPackets
import BBSimulation
import BBTiming
import BBTransport

@testable import BBHost

/// Two started hosts on two virtual controllers on one air.
struct SimulatedHosts {
    let base: World
    let central: Host
    let peripheral: Host
    var loop: RunLoop { base.loop }

    static let centralAddress = DeviceAddress(value: 0xC0_0000_0001)
    static let peripheralAddress = DeviceAddress(value: 0xC0_0000_0002)

    /// Runs a test; afterwards both hosts are closed and nothing may be left over.
    ///
    /// - Parameter reading: the late readings of the central's and the peripheral's pipe.
    static func run(
        seed: UInt64 = 1, database: GATTDatabase = GATTDatabase(deviceName: "peripheral"), reading: [LateReading?] = [nil, nil],
        configure: (inout ControllerConfiguration) -> Void = { _ in }, _ body: @escaping (SimulatedHosts) async throws -> Void
    ) throws {
        let configurations = [centralAddress, peripheralAddress].map {
            var configuration = ControllerConfiguration(address: $0)
            configure(&configuration)
            return configuration
        }
        try World.run(seed: seed) { world in
            var hosts: [Host] = []
            for (configuration, reading) in zip(configurations, reading) {
                hosts.append(try await world.addHost(configuration, database: database, seed: seed, reading: reading))
            }
            try await body(SimulatedHosts(base: world, central: hosts[0], peripheral: hosts[1]))
        }
    }

    func link(_ settings: ConnectSettings = ConnectSettings()) async throws -> (central: Connection, peripheral: Connection) {
        let set = try await peripheral.advertise(AdvertisingSettings(data: AdvertisingData([.completeLocalName("p")])))
        let a = try await central.connect(to: Self.peripheralAddress, settings)
        let b = try await peripheral.nextIncomingConnection(within: .seconds(1))
        _ = set
        return (a, b)
    }
}

extension World {
    /// A started host on a virtual controller, closed after the test.
    func addHost(
        _ configuration: ControllerConfiguration, database: GATTDatabase, seed: UInt64 = 0, reading: LateReading? = nil
    ) async throws -> Host {
        let (end, controllerEnd) = InProcessTransport.pair(name: "\(configuration.address)", on: loop)
        try simulation.addController(configuration, on: controllerEnd)
        let transport = reading.map { LateTransport(end, $0, seed: seed, on: loop) } ?? LateReading.asAsked(end, on: loop)
        let host = Host(loop: loop, transport: transport, database: database, seed: seed)
        atEnd { host.close() }
        try await host.start()
        return host
    }
}
