import Synchronization

/// Requests the end of a run, from any thread.
public final class StopFlag: Sendable {
    private struct Watched {
        var loop: RunLoop
        var cancel: @Sendable () -> Void
    }

    private let raised = Atomic(false)
    private let watched = Mutex<Watched?>(nil)

    public init() {}

    public var isRaised: Bool { raised.load(ordering: .acquiring) }

    public func raise() {
        raised.store(true, ordering: .releasing)
        guard let watched = watched.withLock({ $0 }) else { return }
        watched.loop.post(watched.cancel)
    }

    /// Runs `body`, which is cancelled when the flag is raised.
    ///
    /// - Parameter endsVirtualTime: also cancel a run in virtual time, which otherwise ends by itself soon enough.
    public func run<Value>(on loop: RunLoop, endsVirtualTime: Bool = false, _ body: @escaping () async throws -> Value) throws -> Value {
        let isCancelled = endsVirtualTime || loop.watchesDescriptors
        defer { watched.withLock { $0 = nil } }
        return try loop.run { [self] in
            let activity = loop.start(body)
            let bound = LoopBound(activity, to: loop)
            if isCancelled { watched.withLock { $0 = Watched(loop: loop) { bound.value.cancel() } } }
            if isCancelled, isRaised { activity.cancel() }
            return try await activity.value()
        }
    }
}
