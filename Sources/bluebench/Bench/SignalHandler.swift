import Timing
import Transport

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// Ctrl-C and SIGTERM: the first asks a run to end well, the second ends the process.
struct SignalHandler {
    /// Call before anything starts a thread: threads inherit the signal mask.
    init() {
        var signals = Self.signals
        pthread_sigmask(SIG_BLOCK, &signals, nil)
    }

    /// Calls `action` on a thread of its own.
    func onStop(_ action: @escaping @Sendable () -> Void) {
        _ = SystemThread {
            var awaited = Self.signals
            var caught: Int32 = 0
            guard sigwait(&awaited, &caught) == 0 else { return }
            action()
            guard sigwait(&awaited, &caught) == 0 else { return }
            _exit(128 + caught)
        }
    }

    /// Calls `action` on the loop, as an event of its run.
    func onStop(on loop: RunLoop, _ action: @escaping () -> Void) {
        let action = LoopBound(action, to: loop)
        onStop { loop.post { action.value() } }
    }

    private static var signals: sigset_t {
        var signals = sigset_t()
        sigemptyset(&signals)
        sigaddset(&signals, SIGINT)
        sigaddset(&signals, SIGTERM)
        return signals
    }
}
