import BBCases

/// Sends an arbitrary LMP message.
enum SendLMP: NamedAction {
    static let name = "send LMP"
    static let about = "the link manager sends these octets in a transaction of its side"
    static let isAboutAir = true
    static let octets = TypedArgument.octets("octets", "the first is twice the opcode")
    static var arguments: [ActionArgument] { [octets.declaration] }

    static func run(_ context: ActionContext) async throws -> CaseRecord {
        guard let world = context.bench.world, world.inject(lmp: try context(octets), at: context.side) else {
            throw StepFailure(.bench, "there is no link on a simulated air")
        }
        context.bench.suspendAirConduct()
        return CaseRecord()
    }
}
