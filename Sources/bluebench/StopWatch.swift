import Transport

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// Ctrl-C and SIGTERM for a run of many loops: the first asks it to end well, the second ends the process.
struct StopWatch {
    /// Call before anything starts a thread: threads inherit the signal mask.
    init() {
        var signals = Self.signals
        pthread_sigmask(SIG_BLOCK, &signals, nil)
    }

    /// Calls `action` on a thread of its own when the user wants the run to end.
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

    private static var signals: sigset_t {
        var signals = sigset_t()
        sigemptyset(&signals)
        sigaddset(&signals, SIGINT)
        sigaddset(&signals, SIGTERM)
        return signals
    }
}
