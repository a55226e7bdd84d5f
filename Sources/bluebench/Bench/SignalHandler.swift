import BBConformance
import BBProducts
import BBTiming
import BBTransport
import Synchronization

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// The handler of Ctrl-C, SIGTERM and SIGHUP: the first signal stops a run in an orderly way, the second ends the process, as does one that
/// arrives before there is a run to stop.
final class SignalHandler: Sendable {
    private struct State {
        var action: (@Sendable () -> Void)?
        /// A first signal without an action is kept for the first one.
        var keepsFirst: Bool
        var kept: Int32?
    }

    private let state: Mutex<State>

    /// Must be called before any thread starts, because threads inherit the signal mask.
    ///
    /// - Parameter keepsFirst: until `endKeeping`, a signal without an action is kept for the first `onStop`.
    init(keepsFirst: Bool = false) {
        state = Mutex(State(keepsFirst: keepsFirst))
        var signals = Self.signals
        pthread_sigmask(SIG_BLOCK, &signals, nil)
        _ = SystemThread { [self, signals] in serve(signals) }
    }

    /// Calls `action` on a separate thread; at once if a signal was kept.
    func onStop(_ action: @escaping @Sendable () -> Void) {
        let isDue = state.withLock { state in
            state.keepsFirst = false
            guard state.kept.take() == nil else { return true }
            state.action = action
            return false
        }
        if isDue { action() }
    }

    /// Calls `action` on the loop, as an event of its run.
    func onStop(on loop: RunLoop, _ action: @escaping () -> Void) {
        let action = LoopBound(action, to: loop)
        onStop { loop.post { action.value() } }
    }

    /// From now on, a signal without an action ends the process, as does a kept one if there is no action within two seconds.
    func endKeeping() {
        let isKept = state.withLock { state in
            state.keepsFirst = false
            return state.kept != nil
        }
        guard isKept else { return }
        _ = SystemThread { [self] in
            sleep(2)
            if let kept = state.withLock({ $0.kept }) { Self.end(by: kept) }
        }
    }

    private func serve(_ signals: sigset_t) {
        var awaited = signals
        var caught: Int32 = 0
        while sigwait(&awaited, &caught) == 0 {
            if let action = state.withLock({ $0.action.take() }) {
                action()
                continue
            }
            let number = caught
            let isKept = state.withLock { state in
                guard state.keepsFirst, state.kept == nil else { return false }
                state.kept = number
                return true
            }
            if !isKept { Self.end(by: number) }
        }
    }

    private static func end(by signal: Int32) -> Never {
        Console.complain("ended by \(name(signal))")
        ProcessGroup.killAll()
        _exit(128 + signal)
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
