/// Something that runs on a loop beside the one who started it, who is to wait for it or cancel it.
public final class Activity<Value> {
    private let outcome: Promise<Value>
    private let task: Task<Void, Never>

    init(on loop: RunLoop, _ body: @escaping () async throws -> Value) {
        outcome = Promise(on: loop)
        let bound = LoopBound((body: body, outcome: outcome), to: loop)
        task = Task(executorPreference: loop) {
            let (body, outcome) = bound.value
            do { outcome.fulfil(try await body()) } catch { outcome.fail(error) }
        }
    }

    public var isOver: Bool { outcome.isSettled }
    /// What it came to, as soon as it is over.
    public var result: Result<Value, any Error>? { outcome.result }

    /// Waits for the end; whoever is cancelled while waiting leaves the activity running.
    public func value() async throws -> Value { try await outcome.value() }

    /// Asks it to end; its waits throw `CancellationError`.
    public func cancel() { task.cancel() }
}
