import BBCases

/// Loses one packet on the simulated air.
enum LosePacket: NamedAction {
    static let name = "lose packet"
    static let about = "no device receives one of the next packets on the simulated air"
    static let isAboutAir = true
    static let number = TypedArgument.number("number", 1...10_000, default: 1, "1 for the next packet of any device")
    static var arguments: [ActionArgument] { [number.declaration] }

    static func run(_ context: ActionContext) async throws -> CaseRecord {
        guard let world = context.bench.world else { throw StepFailure(.bench, "packets are lost on a simulated air only") }
        world.simulation.losePacket(try context(number))
        return CaseRecord()
    }
}
