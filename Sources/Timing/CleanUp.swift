import BBPackets

extension RunLoop {
    /// Time limit of a clean-up after its caller was cancelled.
    public static var cleanUpAfterCancellation: Microseconds { .milliseconds(600) }

    /// Runs `body` in a separate activity, so that its waits continue after the caller is cancelled, and returns when it has ended.
    ///
    /// `body` is cancelled after `limit`, or `cleanUpAfterCancellation` after the caller's cancellation if that is earlier. From then on
    /// its waits throw, and it must end. Errors of `body` are dropped.
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
