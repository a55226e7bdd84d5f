import Synchronization

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// Waits at the end of a growing file until Ctrl-C, or until nobody reads the standard output.
final class CaptureFollower: Sendable {
    private let stopped = Atomic<Bool>(false)
    var isStopped: Bool { stopped.load(ordering: .relaxed) }

    private static let pause: Int32 = 100

    init(_ signals: SignalHandler) { signals.onStop { [self] in stopped.store(true, ordering: .relaxed) } }

    /// Waits for a tenth of a second; false at the end.
    func waitsForMore() -> Bool {
        guard !isStopped else { return false }
        var output = pollfd(fd: STDOUT_FILENO, events: 0, revents: 0)
        _ = poll(&output, 1, Self.pause)
        if Int32(output.revents) & (POLLERR | POLLHUP | POLLNVAL) != 0 { stopped.store(true, ordering: .relaxed) }
        return !isStopped
    }
}
