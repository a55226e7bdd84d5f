/// A task on a loop. Its creator must wait for it or cancel it.
public final class Activity<Value> {
    private let outcome: Promise<Value>
    let progress: Progress
    private let task: Task<Void, Never>

    init(on loop: RunLoop, _ body: @escaping () async throws -> Value) {
        let (outcome, progress) = (Promise<Value>(on: loop), Progress())
        self.outcome = outcome
        self.progress = progress
        loop.activityCount += 1
        let bound = LoopBound((body: body, outcome: outcome, progress: progress), to: loop)
        task = Task(executorPreference: loop) {
            let (body, outcome, progress) = bound.value
            do { outcome.fulfil(try await body()) } catch { outcome.fail(error) }
            progress.isOver = true
            loop.activityCount -= 1
        }
    }

    public var isOver: Bool { progress.isOver }
    /// The result once the task has ended.
    public var result: Result<Value, any Error>? { outcome.result }

    /// Waits for the result. Cancelling the waiting task does not cancel the activity.
    public func value() async throws -> Value { try await outcome.value() }

    /// Waits for the end, whatever the result, even if the waiting task is cancelled.
    public func ended() async { await task.value }

    /// Cancels the activity; its waits throw `CancellationError`.
    public func cancel() { task.cancel() }
}

extension RunLoop {
    /// Runs bodies concurrently and waits for all. The first failure, or cancellation of the caller, cancels the others.
    public func runTogether(_ bodies: [() async throws -> Void]) async throws {
        let allDone = Promise<Void>(on: self)
        var left = bodies.count
        if left == 0 { allDone.fulfil(()) }
        let activities = bodies.map { body in
            start {
                do {
                    try await body()
                    left -= 1
                    if left == 0 { allDone.fulfil(()) }
                } catch {
                    allDone.fail(error)
                }
            }
        }
        do {
            try await allDone.value()
        } catch {
            for activity in activities { activity.cancel() }
            for activity in activities { await activity.ended() }
            throw error
        }
    }
}

/// Separate from the generic result, because a loop reads it before each of its steps.
final class Progress {
    var isOver = false
}
