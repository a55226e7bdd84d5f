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

    /// The value of `body`, whose task is cancelled when the flag is raised. What runs in virtual time ends by itself soon enough.
    public func run<Value: Sendable>(on loop: RunLoop, _ body: @escaping @Sendable () async -> Value) throws -> Value {
        defer { watched.withLock { $0 = nil } }
        return try loop.run { [self] in
            let task = Task(executorPreference: loop) { await body() }
            watched.withLock { $0 = Watched(loop: loop) { task.cancel() } }
            if isRaised, loop.mode == .wall { task.cancel() }
            return await task.value
        }
    }
}
