import Synchronization

/// Says that a run is to end; raised from any thread.
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
        guard let watched = watched.withLock({ $0 }), watched.loop.mode == .wall else { return }
        watched.loop.post(watched.cancel)
    }

    /// The value of `body`, which is cancelled when the flag is raised. What runs in virtual time ends by itself soon enough.
    public func run<Value>(on loop: RunLoop, _ body: @escaping () async throws -> Value) throws -> Value {
        defer { watched.withLock { $0 = nil } }
        return try loop.run { [self] in
            let activity = loop.start(body)
            let bound = LoopBound(activity, to: loop)
            watched.withLock { $0 = Watched(loop: loop) { bound.value.cancel() } }
            if isRaised, loop.mode == .wall { activity.cancel() }
            return try await activity.value()
        }
    }
}
