import Packets

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

/// Actions handed to the loop by other threads. `@unchecked Sendable`: all state is guarded by the mutex.
final class Mailbox: @unchecked Sendable {
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private var actions: [@Sendable () -> Void] = []
    private var isSleeping = false
    private let wake: @Sendable () -> Void

    /// - Parameter wake: called by the thread that puts something in while the loop sleeps.
    init(wake: @escaping @Sendable () -> Void) {
        self.wake = wake
        pthread_mutex_init(mutex, nil)
    }

    deinit {
        pthread_mutex_destroy(mutex)
        mutex.deallocate()
    }

    var isFilled: Bool {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return !actions.isEmpty
    }

    func put(_ action: @escaping @Sendable () -> Void) {
        pthread_mutex_lock(mutex)
        actions.append(action)
        let mustWake = isSleeping
        isSleeping = false
        pthread_mutex_unlock(mutex)
        if mustWake { wake() }
    }

    func takeAll() -> [@Sendable () -> Void] {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        guard !actions.isEmpty else { return [] }
        let taken = actions
        actions = []
        return taken
    }

    /// Announces that the loop is about to sleep; false when there is mail, and it must not.
    func beginSleep() -> Bool {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        isSleeping = actions.isEmpty
        return isSleeping
    }

    func endSleep() {
        pthread_mutex_lock(mutex)
        isSleeping = false
        pthread_mutex_unlock(mutex)
    }
}
