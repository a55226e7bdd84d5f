import Synchronization
import Timing

/// Says that a run is to end; raised from any thread.
final class StopFlag: Sendable {
    private struct Watched {
        var task: Task<CaseResult, Never>
        var loop: RunLoop
    }

    private let raised = Atomic(false)
    private let watched = Mutex<Watched?>(nil)

    var isRaised: Bool { raised.load(ordering: .acquiring) }

    func raise() {
        raised.store(true, ordering: .releasing)
        guard let watched = watched.withLock({ $0 }), watched.loop.mode == .wall else { return }
        watched.loop.post { watched.task.cancel() }
    }

    /// Cancels the task when the flag is raised. A case in virtual time ends by itself soon enough.
    func watch(_ task: Task<CaseResult, Never>, on loop: RunLoop) {
        watched.withLock { $0 = Watched(task: task, loop: loop) }
        if isRaised, loop.mode == .wall { task.cancel() }
    }

    func forget() { watched.withLock { $0 = nil } }
}
