import Foundation
import Synchronization
import Transport

/// A running shell command: a process group of its own, whose standard output and standard error are one pipe.
final class ShellProcess: Sendable {
    enum End: Sendable, Hashable {
        case exited(Int)
        case signalled(Int)
    }

    let process: pid_t
    /// The readable end of the pipe; reading does not block.
    let output: Int32
    private let end = Mutex<End?>(nil)

    private static let running = Mutex<Set<pid_t>>([])

    /// Starts `/bin/sh -c command`. Its signals have their default actions, although the bench blocks some.
    ///
    /// - Parameter environment: added to the environment of the bench.
    /// - Throws: `CommandProblem` if it cannot be started.
    init(_ command: String, environment: [String: String] = [:]) throws(CommandProblem) {
        var pipes: [Int32] = [-1, -1]
        guard pipe(&pipes) == 0 else { throw CommandProblem("no pipe: \(systemText(errno))") }
        for descriptor in pipes { _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC) }
        _ = fcntl(pipes[0], F_SETFL, fcntl(pipes[0], F_GETFL) | O_NONBLOCK)
        defer { close(pipes[1]) }
        let variables = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        let (status, child) = Self.spawn(command, variables, output: pipes[1])
        guard status == 0 else {
            close(pipes[0])
            throw CommandProblem("it cannot be started: \(systemText(status))")
        }
        (process, output) = (child, pipes[0])
        Self.running.withLock { _ = $0.insert(child) }
    }

    deinit { close(output) }

    private static func spawn(_ command: String, _ variables: [String: String], output: Int32) -> (status: Int32, child: pid_t) {
        #if canImport(Glibc)
            var (actions, settings) = (posix_spawn_file_actions_t(), posix_spawnattr_t())
        #else
            var (actions, settings): (posix_spawn_file_actions_t?, posix_spawnattr_t?) = (nil, nil)
        #endif
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO)
        posix_spawn_file_actions_adddup2(&actions, output, STDERR_FILENO)
        posix_spawnattr_init(&settings)
        defer { posix_spawnattr_destroy(&settings) }
        var (none, all) = (sigset_t(), sigset_t())
        sigemptyset(&none)
        sigfillset(&all)
        posix_spawnattr_setsigmask(&settings, &none)
        posix_spawnattr_setsigdefault(&settings, &all)
        posix_spawnattr_setpgroup(&settings, 0)
        posix_spawnattr_setflags(&settings, Int16(POSIX_SPAWN_SETPGROUP) | Int16(POSIX_SPAWN_SETSIGMASK) | Int16(POSIX_SPAWN_SETSIGDEF))
        var words = Self.list(["/bin/sh", "-c", command])
        var lines = Self.list(variables.map { "\($0.key)=\($0.value)" })
        defer { for text in words + lines { free(text) } }
        var child = pid_t()
        return (posix_spawn(&child, "/bin/sh", &actions, &settings, &words, &lines), child)
    }

    /// Copies of the texts, with a null pointer at the end.
    private static func list(_ texts: [String]) -> [UnsafeMutablePointer<CChar>?] { texts.map { strdup($0) } + [nil] }

    /// Returns how the shell ended; nil while it runs.
    func ended() -> End? {
        end.withLock { end in
            if let end { return end }
            var status: Int32 = 0
            let found = waitpid(process, &status, WNOHANG)
            guard found != 0, found == process || errno != EINTR else { return nil }
            let signal = Int(status & 0x7F)
            end = found != process ? .exited(0) : signal == 0 ? .exited(Int(status >> 8) & 0xFF) : .signalled(signal)
            Self.running.withLock { _ = $0.remove(process) }
            return end
        }
    }

    /// Sends a signal to all processes of the group.
    func signal(_ number: Int32) { kill(-process, number) }

    /// Ends the commands that still run, when the program ends at once.
    static func killAll() {
        for process in running.withLock({ $0 }) { kill(-process, SIGKILL) }
    }

    /// Waits up to `milliseconds` for output.
    ///
    /// - Returns: the octets; empty if there are none yet, nil at the end of the output.
    func read(waiting milliseconds: Int32) -> [UInt8]? {
        var entry = pollfd(fd: output, events: Int16(POLLIN), revents: 0)
        guard poll(&entry, 1, milliseconds) > 0 else { return [] }
        var octets = [UInt8](repeating: 0, count: 1 << 14)
        let count = octets.withUnsafeMutableBytes { Foundation.read(output, $0.baseAddress, $0.count) }
        if count < 0 { return errno == EAGAIN || errno == EINTR ? [] : nil }
        return count == 0 ? nil : Array(octets[..<count])
    }
}

/// The reason why a command or a log of the user failed.
struct CommandProblem: Error, Hashable {
    var text: String
    init(_ text: String) { self.text = text }
}

/// Ends the user's commands that still run, when the program ends at once.
public enum UserCommands {
    public static func killAll() { ShellProcess.killAll() }
}
