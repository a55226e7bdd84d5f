import Conformance
import Synchronization
import Timing
import Transport

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// The handler of Ctrl-C, SIGTERM and SIGHUP: the first signal stops a run in an orderly way, the second ends the process, as does one that
/// arrives before there is a run.
final class SignalHandler: Sendable {
    private let action = Mutex<(@Sendable () -> Void)?>(nil)

    /// Must be called before any thread starts, because threads inherit the signal mask.
    init() {
        var signals = Self.signals
        pthread_sigmask(SIG_BLOCK, &signals, nil)
        _ = SystemThread { [self, signals] in serve(signals) }
    }

    /// Calls `action` on a separate thread.
    func onStop(_ action: @escaping @Sendable () -> Void) { self.action.withLock { $0 = action } }

    /// Calls `action` on the loop, as an event of its run.
    func onStop(on loop: RunLoop, _ action: @escaping () -> Void) {
        let action = LoopBound(action, to: loop)
        onStop { loop.post { action.value() } }
    }

    private func serve(_ signals: sigset_t) {
        var awaited = signals
        var caught: Int32 = 0
        while sigwait(&awaited, &caught) == 0 {
            guard let action = action.withLock({ $0.take() }) else {
                Console.complain("ended by \(Self.name(caught))")
                UserCommands.killAll()
                _exit(128 + caught)
            }
            action()
        }
    }

    private static func name(_ number: Int32) -> String {
        switch number {
        case SIGINT: "Ctrl-C"
        case SIGHUP: "SIGHUP"
        default: "SIGTERM"
        }
    }

    /// SIGHUP is included unless it is ignored, as with `nohup`.
    private static var signals: sigset_t {
        var signals = sigset_t()
        sigemptyset(&signals)
        sigaddset(&signals, SIGINT)
        sigaddset(&signals, SIGTERM)
        let before = signal(SIGHUP, SIG_DFL)
        if unsafeBitCast(before, to: Int.self) == unsafeBitCast(SIG_IGN, to: Int.self) {
            signal(SIGHUP, SIG_IGN)
        } else {
            sigaddset(&signals, SIGHUP)
        }
        return signals
    }
}
