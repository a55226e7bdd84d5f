import ArgumentParser
import Simulation

/// The options for background devices on the simulated air.
struct SurroundingsOptions: ParsableArguments {
    @Option(help: ArgumentHelp("Packet error rate, 0 to 1.", valueName: "rate"), transform: Arguments.rate) var packetErrorRate = 0.0
    @Option(
        help: ArgumentHelp(
            "Number of other devices on the air: of four, one advertises, one scans and two are connected.", valueName: "n"),
        transform: Arguments.whole(0...50))
    var neighbours = 0

    func settle(in simulation: Simulation) throws {
        if packetErrorRate > 0 { simulation.setLoss(corrupted: packetErrorRate) }
        try simulation.settle(Neighbours(devices: neighbours))
    }
}
