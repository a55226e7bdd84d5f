import BBCases

/// Sends an arbitrary LMP message.
enum SendLMP: NamedAction {
    static let name = "send LMP"
    static let about = "the link manager sends these octets in a transaction of its side, or of the other one"
    static let isAboutAir = true
    static let octets = TypedArgument.octets("octets", "the first is twice the opcode")
    static let transaction = TypedArgument.named("transaction", ["Own": 0, "Peer": 1], default: 0, "the side that began the transaction")
    static var arguments: [ActionArgument] { [octets.declaration, transaction.declaration] }

    static func run(_ context: ActionContext) async throws -> CaseRecord {
        let inAnswer = try context(transaction) == 1
        guard let world = context.bench.world, world.inject(lmp: try context(octets), at: context.side, inAnswer: inAnswer) else {
            throw StepFailure(.bench, "there is no link on a simulated air")
        }
        context.bench.suspendAirConduct()
        return CaseRecord()
    }
}
