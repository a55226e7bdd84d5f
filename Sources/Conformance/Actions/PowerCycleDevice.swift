import BBCases

/// Switches the device under test off and on by the user's command.
enum PowerCycleDevice: NamedAction {
    static let name = "power cycle device"
    static let about = "runs the command of --power-cycle, which switches the device under test off and on"
    static var arguments: [ActionArgument] { [] }

    static func run(_ context: ActionContext) async throws -> CaseRecord {
        guard let command = context.bench.tools.switchPower else {
            throw StepFailure(.limitation, "no command switches the device off and on: --power-cycle names one")
        }
        if let failure = try await command() { throw StepFailure(.bench, failure) }
        return CaseRecord()
    }
}
