import BBTransport
import Foundation

/// A running shell command of the user: a process group of its own, whose standard output and standard error are one pipe.
package final class ShellProcess: Sendable {
    private let group: ProcessGroup
    /// The readable end of the pipe; reading does not block.
    package let output: Int32

    package var process: pid_t { group.leader }

    /// Starts `/bin/sh -c command`.
    ///
    /// - Parameter environment: added to the environment of the bench, which is passed without its secrets.
    /// - Throws: `CommandProblem` if it cannot be started.
    package init(_ command: String, environment: [String: String] = [:]) throws(CommandProblem) {
        var pipes: [Int32] = [-1, -1]
        guard pipe(&pipes) == 0 else { throw CommandProblem("no pipe: \(systemText(errno))") }
        for descriptor in pipes { _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC) }
        _ = fcntl(pipes[0], F_SETFL, fcntl(pipes[0], F_GETFL) | O_NONBLOCK)
        defer { close(pipes[1]) }
        do throws(CommandProblem) {
            group = try ProcessGroup(
                "/bin/sh", ["-c", command], environment: ProcessGroup.environment.merging(environment) { $1 }, output: pipes[1],
                errors: pipes[1])
        } catch {
            close(pipes[0])
            throw error
        }
        output = pipes[0]
    }

    deinit { close(output) }

    /// Returns how the shell ended; nil while it runs.
    package func ended() -> ProcessGroup.End? { group.ended() }

    /// Sends a signal to all processes of the group.
    package func signal(_ number: Int32) { group.signal(number) }

    /// Waits up to `milliseconds` for output.
    ///
    /// - Returns: the octets; empty if there are none yet, nil at the end of the output.
    package func read(waiting milliseconds: Int32) -> [UInt8]? {
        var entry = pollfd(fd: output, events: Int16(POLLIN), revents: 0)
        guard poll(&entry, 1, milliseconds) > 0 else { return [] }
        var octets = [UInt8](repeating: 0, count: 1 << 14)
        let count = octets.withUnsafeMutableBytes { Foundation.read(output, $0.baseAddress, $0.count) }
        if count < 0 { return errno == EAGAIN || errno == EINTR ? [] : nil }
        return count == 0 ? nil : Array(octets[..<count])
    }
}
