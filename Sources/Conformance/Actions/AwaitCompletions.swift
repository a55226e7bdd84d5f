import BBCases
import BBPackets
import BBTiming

/// Waits until the controller has reported each data packet as completed. A controller goes on reporting until it has told of all of them,
/// at a rate of its own: Core Vol 4, Part E, 7.7.19.
enum AwaitCompletions: NamedAction {
    static let name = "await completions"
    static let about = "waits until the controller has reported all data packets as completed"
    static var arguments: [ActionArgument] { [] }

    private static let longest = Microseconds.seconds(10)
    private static let step = Microseconds.milliseconds(100)

    static func run(_ context: ActionContext) async throws -> CaseRecord {
        let (end, loop) = (try context.end(), context.bench.loop)
        let deadline = min(loop.now + longest, context.deadline)
        while end.uncompletedPackets > 0, loop.now < deadline { try await loop.sleep(for: step) }
        let count = end.uncompletedPackets
        guard count == 0 else {
            throw ActionFinding(
                text:
                    "\(count) of the data packets sent were not reported in \(HCIEvents.NumberOfCompletedPackets.name) for \(longest.text)")
        }
        return CaseRecord()
    }
}
