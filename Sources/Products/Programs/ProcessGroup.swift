import BBTransport
import Foundation
import Synchronization

/// A program that the bench has started, in a process group of its own.
public final class ProcessGroup: Sendable {
    public enum End: Sendable, Hashable {
        case exited(Int)
        case signalled(Int)
    }

    /// The process identifier of the program, and the number of its group.
    public let leader: pid_t
    private let end = Mutex<End?>(nil)

    private static let running = Mutex<Set<pid_t>>([])

    /// Starts a program without standard input. Its signals have their default actions, although the bench blocks some.
    ///
    /// - Parameters:
    ///   - words: its arguments, after the name of the program.
    ///   - output: the descriptor for the standard output.
    ///   - errors: the descriptor for the standard error.
    ///   - environment: its whole environment.
    /// - Throws: `CommandProblem` if it cannot be started.
    public init(_ program: String, _ words: [String], environment: [String: String], output: Int32, errors: Int32) throws(CommandProblem) {
        let (status, child) = Self.spawn([program] + words, environment, output, errors)
        guard status == 0 else { throw CommandProblem("it cannot be started: \(systemText(status))") }
        leader = child
        Self.running.withLock { _ = $0.insert(child) }
    }

    private static func spawn(
        _ words: [String], _ environment: [String: String], _ output: Int32, _ errors: Int32
    ) -> (status: Int32, child: pid_t) {
        #if canImport(Glibc)
            var (actions, settings) = (posix_spawn_file_actions_t(), posix_spawnattr_t())
        #else
            var (actions, settings): (posix_spawn_file_actions_t?, posix_spawnattr_t?) = (nil, nil)
        #endif
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO)
        posix_spawn_file_actions_adddup2(&actions, errors, STDERR_FILENO)
        posix_spawnattr_init(&settings)
        defer { posix_spawnattr_destroy(&settings) }
        var (none, all) = (sigset_t(), sigset_t())
        sigemptyset(&none)
        sigfillset(&all)
        posix_spawnattr_setsigmask(&settings, &none)
        posix_spawnattr_setsigdefault(&settings, &all)
        posix_spawnattr_setpgroup(&settings, 0)
        posix_spawnattr_setflags(&settings, Int16(POSIX_SPAWN_SETPGROUP) | Int16(POSIX_SPAWN_SETSIGMASK) | Int16(POSIX_SPAWN_SETSIGDEF))
        var arguments = list(words)
        var lines = list(environment.map { "\($0.key)=\($0.value)" })
        defer { for text in arguments + lines { free(text) } }
        var child = pid_t()
        return (posix_spawn(&child, words[0], &actions, &settings, &arguments, &lines), child)
    }

    /// Copies of the texts, with a null pointer at the end.
    private static func list(_ texts: [String]) -> [UnsafeMutablePointer<CChar>?] { texts.map { strdup($0) } + [nil] }

    /// The environment of the bench without its secrets.
    public static var environment: [String: String] {
        let secrets = Set(SecretVariable.allCases.map(\.rawValue))
        return ProcessInfo.processInfo.environment.filter { !secrets.contains($0.key) }
    }

    /// Returns how the program ended; nil while it runs.
    public func ended() -> End? {
        end.withLock { end in
            if let end { return end }
            var status: Int32 = 0
            let found = waitpid(leader, &status, WNOHANG)
            guard found != 0, found == leader || errno != EINTR else { return nil }
            let signal = Int(status & 0x7F)
            end = found != leader ? .exited(0) : signal == 0 ? .exited(Int(status >> 8) & 0xFF) : .signalled(signal)
            Self.running.withLock { _ = $0.remove(leader) }
            return end
        }
    }

    /// Sends a signal to all processes of the group.
    public func signal(_ number: Int32) { kill(-leader, number) }

    /// Ends the groups that still run, when the bench ends at once.
    public static func killAll() {
        for leader in running.withLock({ $0 }) { kill(-leader, SIGKILL) }
    }
}

/// The reason why a command or a log of the user failed.
public struct CommandProblem: Error, Hashable {
    public var text: String
    package init(_ text: String) { self.text = text }
}
