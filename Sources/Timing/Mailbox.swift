import Packets
import Synchronization

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// The machine's monotonic clock. Only the run loop and the threads of transports read it.
public enum MonotonicClock {
    public static func now() -> Microseconds {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Microseconds(Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1_000)
    }
}

/// Actions handed to the loop by other threads.
final class Mailbox: Sendable {
    private struct State {
        var actions: [@Sendable () -> Void] = []
        var isSleeping = false
    }

    private let state = Mutex(State())
    /// Asked at each of the loop's steps, so without the lock.
    private let hasMail = Atomic(false)
    private let wake: @Sendable () -> Void

    /// - Parameter wake: called by the thread that puts something in while the loop sleeps.
    init(wake: @escaping @Sendable () -> Void) {
        self.wake = wake
    }

    var isFilled: Bool { hasMail.load(ordering: .acquiring) }

    func put(_ action: @escaping @Sendable () -> Void) {
        let mustWake = state.withLock { state in
            state.actions.append(action)
            hasMail.store(true, ordering: .releasing)
            defer { state.isSleeping = false }
            return state.isSleeping
        }
        if mustWake { wake() }
    }

    func takeAll() -> [@Sendable () -> Void] {
        guard isFilled else { return [] }
        return state.withLock { state in
            defer { state.actions = [] }
            hasMail.store(false, ordering: .releasing)
            return state.actions
        }
    }

    /// Announces that the loop is about to sleep; false when there is mail, and it must not.
    func beginSleep() -> Bool {
        state.withLock { state in
            state.isSleeping = state.actions.isEmpty
            return state.isSleeping
        }
    }

    func endSleep() { state.withLock { $0.isSleeping = false } }
}
