import Packets

extension RunLoop {
    /// Limit for a clean-up once its caller is cancelled.
    public static var cleanUpAfterCancellation: Microseconds { .milliseconds(600) }

    /// Runs `body` in an activity of its own, so that its waits last although the caller is cancelled, and returns when it has ended.
    ///
    /// After `limit`, or `cleanUpAfterCancellation` after the caller's cancellation if that is earlier, `body` is cancelled itself: from then on
    /// its waits throw, and it has to let them. What it throws is dropped.
    public func cleanUp(within limit: Microseconds, _ body: @escaping () async throws -> Void) async {
        let work = start(body)
        let end = now + limit
        let timer = keep { work.cancel() }
        set(timer, at: end)
        let bound = LoopBound((work: work, timer: timer), to: self)
        await withTaskCancellationHandler {
            await work.ended()
        } onCancel: { [self] in
            let hurry: @Sendable () -> Void = { [self] in
                let (work, timer) = bound.value
                if !work.isOver { set(timer, at: min(end, now + Self.cleanUpAfterCancellation)) }
            }
            if isOnLoop { hurry() } else { post(hurry) }
        }
        discard(timer)
    }
}
