import BBPackets
import Synchronization

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// The system's monotonic clock. Only the run loop and transport threads read it.
public enum MonotonicClock {
    public static func now() -> Microseconds {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Microseconds(Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1_000)
    }
}

/// Actions posted to the loop by other threads.
///
/// A sender publishes its action before it checks if the loop sleeps; the loop publishes that it sleeps before it checks for actions. So at
/// least one of them sees the other.
final class Mailbox: Sendable {
    private let actions = Mutex<[@Sendable () -> Void]>([])
    /// Atomic, because the loop reads it in each step without the lock.
    private let hasMail = Atomic(false)
    private let isSleeping = Atomic(false)
    private let wake: @Sendable () -> Void

    /// - Parameter wake: called by the posting thread if the loop sleeps.
    init(wake: @escaping @Sendable () -> Void) {
        self.wake = wake
    }

    var isFilled: Bool { hasMail.load(ordering: .acquiring) }

    func put(_ action: @escaping @Sendable () -> Void) {
        actions.withLock { actions in
            actions.append(action)
            hasMail.store(true, ordering: .sequentiallyConsistent)
        }
        if isSleeping.exchange(false, ordering: .sequentiallyConsistent) { wake() }
    }

    func takeAll() -> [@Sendable () -> Void] {
        guard isFilled else { return [] }
        return actions.withLock { actions in
            defer { actions = [] }
            hasMail.store(false, ordering: .releasing)
            return actions
        }
    }

    /// Announces that the loop is about to sleep; false if there are actions and it must not.
    func beginSleep() -> Bool {
        isSleeping.store(true, ordering: .sequentiallyConsistent)
        guard hasMail.load(ordering: .sequentiallyConsistent) else { return true }
        endSleep()
        return false
    }

    func endSleep() { isSleeping.store(false, ordering: .relaxed) }
}
