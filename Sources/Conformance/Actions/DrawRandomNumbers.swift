import BBCases
import BBPackets

/// Requests many random numbers from a controller and compares them bit by bit.
enum DrawRandomNumbers: NamedAction {
    static let name = "draw random numbers"
    static let about = "sends LE_Rand many times; finds constant bits and repeated numbers"
    static let count = TypedArgument.number("count", 2...1_000, "number of commands")
    static var arguments: [ActionArgument] { [count.declaration] }
    static let commands = [HCICommands.LERand.name]
    static let results = ["constantBits", "repeated"]

    /// The octets of a successful answer.
    private static let length = HCICommands.LERand.Return(status: .success, randomNumber: 0).encodedCount

    private static func number(in reply: Endpoint.Reply) throws(StepFailure) -> UInt64 {
        let answer = try? HCICommands.LERand.Return(prefixOf: reply.parameters)
        if let answer, answer.status != .success {
            throw StepFailure(.subject, "the answer to LE_Rand: expected Status Success, got \(answer.status) (packet \(reply.number))")
        }
        guard let answer, reply.parameters.count == length else {
            throw StepFailure(
                .subject, "the answer to LE_Rand: expected \(length) octets, got \(reply.parameters.count) (packet \(reply.number))")
        }
        return answer.randomNumber
    }

    static func run(_ context: ActionContext) async throws -> CaseRecord {
        let end = try context.end()
        var numbers: [UInt64] = []
        for _ in 0..<(try context(count)) {
            let limit = context.bench.loop.now + .seconds(3)
            guard let reply = try await end.command(opcode: HCICommands.LERand.opcode, parameters: [], until: limit) else {
                throw StepFailure(end.side == .subject ? .subject : .environment, "LE_Rand was not answered within 3 s")
            }
            numbers.append(try number(in: reply))
        }
        let ones = numbers.reduce(UInt64.max, &)
        let zeros = ~numbers.reduce(0, |)
        let repeated = numbers.count - Set(numbers).count
        return CaseRecord([("constantBits", .number((ones | zeros).nonzeroBitCount)), ("repeated", .number(repeated))])
    }
}
