import Synchronization

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// The end of the server by a signal.
package final class MCPStop: Sendable {
    private let raised = Atomic(false)
    private let writer: Int32
    /// Readable after the signal; -1 if the system has no pipe left.
    let descriptor: Int32

    package init() {
        var pipes: [Int32] = [-1, -1]
        if pipe(&pipes) == 0 { for end in pipes { _ = fcntl(end, F_SETFD, FD_CLOEXEC) } }
        (descriptor, writer) = (pipes[0], pipes[1])
    }

    var isRaised: Bool { raised.load(ordering: .acquiring) }

    package func raise() {
        raised.store(true, ordering: .releasing)
        _ = write(writer, "x", 1)
    }
}
