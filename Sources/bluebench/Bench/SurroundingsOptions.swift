import ArgumentParser
import BBSimulation
import Foundation

/// The options for background devices on the simulated air.
struct SurroundingsOptions: ParsableArguments {
    @Option(help: ArgumentHelp("Packet error rate, 0 to 1.", valueName: "rate"), transform: Arguments.rate) var packetErrorRate = 0.0
    @Option(
        help: ArgumentHelp(
            "Number of other devices on the air: of four, one advertises, one scans and two are connected.", valueName: "n"),
        transform: Arguments.whole(0...50))
    var neighbours = 0

    @Option(
        help: ArgumentHelp("Distance between any two devices in metres, which determines the RSSI: 3 by default.", valueName: "m"),
        transform: Arguments.distance)
    var distance: Double?

    func settle(in simulation: Simulation) throws {
        if packetErrorRate > 0 { simulation.setLoss(corrupted: packetErrorRate) }
        if let distance { simulation.setPathLoss(Self.pathLoss(at: distance)) }
        try simulation.settle(Neighbours(devices: neighbours))
    }

    /// Path loss in free space at 2440 MHz, in dB.
    private static func pathLoss(at metres: Double) -> Int { Int(saturating: (40.2 + 20 * log10(metres)).rounded()) }
}
