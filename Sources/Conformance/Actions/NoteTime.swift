import BBCases
import BBTiming

/// Notes the time of a packet, so that a case can judge the times between several of them together.
enum NoteTime: NamedAction {
    static let name = "note time"
    static let about =
        "notes the time of the last packet at this side; returns the number of times between the notes so far, their mean in microseconds, and how many of them at most are the same in whole seconds"
    static let first = TypedArgument.named("first", ["No": 0, "Yes": 1], default: 0, "forgets earlier notes")
    static var arguments: [ActionArgument] { [first.declaration] }
    static let results = ["count", "mean", "alike"]

    static func run(_ context: ActionContext) async throws -> CaseRecord {
        guard let last = context.bench.log.observations.last(where: { $0.side == context.side && !$0.isAir }) else {
            throw StepFailure(.precondition, "there is no packet of the \(context.side.rawValue) yet")
        }
        if try context(first) == 1 { context.bench.notedTimes = [] }
        context.bench.notedTimes.append(last.time)
        let times = context.bench.notedTimes
        let gaps = zip(times.dropFirst(), times).map { $0.rawValue - $1.rawValue }
        let seconds = Dictionary(grouping: gaps) { ($0 + 500_000) / 1_000_000 }
        let mean = gaps.isEmpty ? 0 : gaps.reduce(0, +) / Int64(gaps.count)
        return CaseRecord([
            ("count", .number(gaps.count)), ("mean", .number(Int(mean))), ("alike", .number(seconds.values.map(\.count).max() ?? 0)),
        ])
    }
}
