import Timing
import Transport

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// Ctrl-C and SIGTERM as events of a run: the first asks it to end well, the second ends the process.
enum Interruption {
    /// Calls `action` on the loop when the user wants the run to end. Call before anything starts a thread: threads inherit the signal mask.
    static func watch(on loop: RunLoop, _ action: @escaping () -> Void) {
        let action = LoopBound(action, to: loop)
        var signals = sigset_t()
        sigemptyset(&signals)
        sigaddset(&signals, SIGINT)
        sigaddset(&signals, SIGTERM)
        pthread_sigmask(SIG_BLOCK, &signals, nil)
        _ = SystemThread {
            var awaited = sigset_t()
            sigemptyset(&awaited)
            sigaddset(&awaited, SIGINT)
            sigaddset(&awaited, SIGTERM)
            var caught: Int32 = 0
            guard sigwait(&awaited, &caught) == 0 else { return }
            loop.post { action.value() }
            guard sigwait(&awaited, &caught) == 0 else { return }
            _exit(128 + caught)
        }
    }
}
