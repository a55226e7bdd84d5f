import BBHost
import BBPackets
import BBSessions
import BBSimulation
import BBTiming

/// A phone and an accessory on one simulated air, in virtual time.
struct BridgeAir {
    private let command: BridgeCommand

    init(_ command: BridgeCommand) { self.command = command }

    func run(_ profiles: [ClassicProfile]) throws {
        let signals = SignalHandler()
        let loop = RunLoop()
        let captures = try Captures(packets: nil, air: command.air, on: loop)
        let simulation = Simulation(loop: loop, seed: command.seed)
        try captures.logAir(of: simulation)
        do {
            let accessory = try host(2, "accessory", simulation, loop)
            let phone = try host(1, "phone", simulation, loop)
            let ends = [phone, accessory].map { host, side in
                BridgeSession(host, command.plan, on: Terminal(on: loop), side: side)
            }
            let stop = StopFlag()
            signals.onStop { stop.raise() }
            try stop.run(on: loop, endsVirtualTime: true) {
                defer { for (host, _) in [phone, accessory] { host.close() } }
                try await phone.0.start()
                try await accessory.0.start()
                try await ends[1].offer(Set(profiles), named: "accessory")
                defer { ends[1].summarize() }
                try await ends[0].conclude { try await ends[0].asPhone(accessory.0.address, profiles) }
            }
            try captures.finish()
        } catch {
            try? captures.finish()
            throw CommandFailure(error)
        }
    }

    private func host(_ number: UInt64, _ side: String, _ simulation: Simulation, _ loop: RunLoop) throws -> (Host, String) {
        var configuration = ControllerConfiguration(address: DeviceAddress(value: 0x02BB_0000_0000 + number))
        configuration.profile = .dual
        let transport = try simulation.addController(configuration).host
        let host = Host(
            loop: loop, transport: transport, database: GATTDatabase(deviceName: side), seed: command.seed &+ number)
        return (host, side)
    }
}
