import ArgumentParser
import Simulation

/// The options for background devices on the simulated air.
struct SurroundingsOptions: ParsableArguments {
    @Option(help: ArgumentHelp("How many of all packets on the air are lost, 0 to 1.", valueName: "rate")) var packetErrorRate = 0.0
    @Option(
        help: ArgumentHelp(
            "Devices that use the same air: of four, one advertises, one scans, and two have a connection.", valueName: "count"))
    var neighbours = 0

    func validate() throws {
        guard 0...1 ~= packetErrorRate else { throw ValidationError("--packet-error-rate is 0...1") }
        guard 0...50 ~= neighbours else { throw ValidationError("--neighbours is 0...50") }
    }

    func settle(in simulation: Simulation) throws {
        if packetErrorRate > 0 { simulation.setLoss(corrupted: packetErrorRate) }
        try simulation.settle(Neighbours(devices: neighbours))
    }
}
