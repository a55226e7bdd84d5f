import BBCases

/// Sets the path loss of the simulated air.
enum SetPathLoss: NamedAction {
    static let name = "set path loss"
    static let about = "sets the path loss between all devices of the simulated air"
    static let isAboutAir = true
    static let decibels = TypedArgument.number("dB", 0...200, "path loss in dB")
    static var arguments: [ActionArgument] { [decibels.declaration] }

    static func run(_ context: ActionContext) async throws -> CaseRecord {
        guard let world = context.bench.world else { throw StepFailure(.bench, "a path has a loss on a simulated air only") }
        world.simulation.setPathLoss(try context(decibels))
        return CaseRecord()
    }
}
