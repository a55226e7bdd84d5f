import BBCases

/// Sets the packet error rate of the simulated air.
enum LosePackets: NamedAction {
    static let name = "lose packets"
    static let about = "sets the packet error rate of the simulated air"
    static let isAboutAir = true
    static let permille = TypedArgument.number("permille", 0...1_000, "lost packets per thousand")
    static var arguments: [ActionArgument] { [permille.declaration] }

    static func run(_ context: ActionContext) async throws -> CaseRecord {
        guard let world = context.bench.world else { throw StepFailure(.bench, "packets are lost on a simulated air only") }
        world.setPacketErrorRate(Double(try context(permille)) / 1_000)
        return CaseRecord()
    }
}
