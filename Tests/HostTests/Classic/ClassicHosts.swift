import BBBenchTesting
import BBPackets
import BBSimulation
import BBTiming
import Testing

@testable import BBHost

/// Two started hosts on dual mode controllers; the second one is discoverable and connectable.
struct ClassicHosts {
    let world: World
    let near: Host
    let far: Host
    var loop: RunLoop { world.loop }

    static func run(
        seed: UInt64 = 3, _ settings: [PairingSettings?] = [nil, nil], _ body: @escaping (ClassicHosts) async throws -> Void
    ) throws {
        try World.run(seed: seed) { world in
            var hosts: [Host] = []
            for number in UInt64(1)...2 {
                var configuration = ControllerConfiguration(address: DeviceAddress(value: 0xB1BE_0000 + number))
                configuration.profile = .dual
                let host = try await world.addHost(configuration, database: GATTDatabase(deviceName: "host \(number)"), seed: number)
                host.pairingSettings = settings[Int(number) - 1]
                hosts.append(host)
            }
            try await hosts[1].setScan(isDiscoverable: true, isConnectable: true)
            try await body(ClassicHosts(world: world, near: hosts[0], far: hosts[1]))
        }
    }

    var farAddress: BDADDR { far.controller.address.bdADDR }

    /// Both ends of a new connection.
    func link() async throws -> (near: ClassicConnection, far: ClassicConnection) {
        var incoming: ClassicConnection?
        let token = far.newClassicConnections.add { incoming = $0 }
        defer { far.newClassicConnections.remove(token) }
        // Both devices have removed the link.
        try await loop.sleep(for: .seconds(1))
        let one = try await near.connectClassic(to: farAddress)
        try await loop.sleep(for: .seconds(1))
        return (one, try #require(incoming))
    }
}
