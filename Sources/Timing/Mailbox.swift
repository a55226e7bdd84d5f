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

/// Actions handed to the loop by other threads. `@unchecked Sendable`: the actions are guarded by the mutex.
final class Mailbox: @unchecked Sendable {
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let filled = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    private var actions: [@Sendable () -> Void] = []

    init() {
        pthread_mutex_init(mutex, nil)
        #if canImport(Glibc)
            var attributes = pthread_condattr_t()
            pthread_condattr_init(&attributes)
            pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
            pthread_cond_init(filled, &attributes)
            pthread_condattr_destroy(&attributes)
        #else
            pthread_cond_init(filled, nil)
        #endif
    }

    deinit {
        pthread_cond_destroy(filled)
        pthread_mutex_destroy(mutex)
        filled.deallocate()
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
        pthread_cond_signal(filled)
        pthread_mutex_unlock(mutex)
    }

    func takeAll() -> [@Sendable () -> Void] {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        guard !actions.isEmpty else { return [] }
        let taken = actions
        actions = []
        return taken
    }

    /// Sleeps until an action arrives or the monotonic clock reaches `deadline`.
    func wait(until deadline: Microseconds?) {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        guard actions.isEmpty else { return }
        guard let deadline else {
            pthread_cond_wait(filled, mutex)
            return
        }
        #if canImport(Glibc)
            var time = timespec(tv_sec: Int(deadline.rawValue / 1_000_000), tv_nsec: Int(deadline.rawValue % 1_000_000) * 1_000)
            pthread_cond_timedwait(filled, mutex, &time)
        #else
            let left = max(0, (deadline - MonotonicClock.now()).rawValue)
            var time = timespec(tv_sec: Int(left / 1_000_000), tv_nsec: Int(left % 1_000_000) * 1_000)
            pthread_cond_timedwait_relative_np(filled, mutex, &time)
        #endif
    }
}
