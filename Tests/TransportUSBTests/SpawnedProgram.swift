#if os(Linux)
    import Foundation
    import BBPackets
    import BBTiming

    /// The program under test in a separate process, under the preload library.
    final class SpawnedProgram {
        let pid: pid_t
        private let path: String
        private var code: Int32?

        /// - Parameters:
        ///   - folder: the fake bus.
        ///   - wrapper: a command line that runs the program.
        init(_ arguments: [String], folder: String, wrapper: [String] = []) throws {
            path = folder + ".out\(UInt32.random(in: 0 ... .max))"
            var actions = posix_spawn_file_actions_t()
            posix_spawn_file_actions_init(&actions)
            defer { posix_spawn_file_actions_destroy(&actions) }
            posix_spawn_file_actions_addopen(&actions, 1, path, O_WRONLY | O_CREAT | O_TRUNC, 0o644)
            posix_spawn_file_actions_adddup2(&actions, 1, 2)
            let environment = ProcessInfo.processInfo.environment.merging(
                // The user's bonds and files are not for the tests.
                ["HOME": folder, "XDG_DATA_HOME": folder, "TMPDIR": folder, "UMOCKDEV_DIR": folder, "LD_PRELOAD": preload]) { $1 }
            let words = wrapper + [programUnderTest] + arguments
            let pointers = words.map { strdup($0) } + [nil]
            let settings = environment.map { strdup("\($0)=\($1)") } + [nil]
            defer { for pointer in pointers + settings { free(pointer) } }
            // Under nohup, or in a shell's background job, signals are ignored, which a program would inherit.
            var attributes = posix_spawnattr_t()
            posix_spawnattr_init(&attributes)
            defer { posix_spawnattr_destroy(&attributes) }
            var (none, all) = (sigset_t(), sigset_t())
            sigemptyset(&none)
            sigfillset(&all)
            posix_spawnattr_setsigmask(&attributes, &none)
            posix_spawnattr_setsigdefault(&attributes, &all)
            posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))
            var child = pid_t()
            let status = posix_spawnp(&child, words[0], &actions, &attributes, pointers, settings)
            guard status == 0 else { throw POSIXError(POSIXErrorCode(rawValue: status) ?? .EIO) }
            pid = child
        }

        deinit {
            if code == nil {
                kill(pid, SIGKILL)
                reap()
            }
            unlink(path)
        }

        var output: String { (try? String(contentsOfFile: path, encoding: .utf8)) ?? "" }

        /// True if it has ended; it stays a zombie, which the system still reports, until `reap()`.
        var hasEnded: Bool {
            guard code == nil else { return true }
            var information = siginfo_t()
            return waitid(P_PID, id_t(pid), &information, WEXITED | WNOHANG | WNOWAIT) == 0 && information.si_signo == SIGCHLD
        }

        /// Its exit code, or the negative signal number.
        @discardableResult
        func reap() -> Int32 {
            if let code { return code }
            var status: Int32 = 0
            waitpid(pid, &status, 0)
            let signal = status & 0x7F
            code = signal == 0 ? status >> 8 & 0xFF : -signal
            return code ?? 0
        }

        func interrupt() { kill(pid, SIGINT) }

        /// Limit for what must happen. It protects against hanging and is no requirement, so that a busy machine fails no test.
        static let timeout = Microseconds.seconds(1_200)

        /// Waits on the loop until the program has printed a text; false if it has ended without it.
        func prints(_ text: String, on loop: BBTiming.RunLoop) throws -> Bool {
            try loop.run { [self] in
                let deadline = loop.now + Self.timeout
                while !output.contains(text), !hasEnded, loop.now < deadline { try await loop.sleep(for: 10_000) }
                return output.contains(text)
            }
        }

        /// Waits on the loop; false if it has not ended in time.
        func end(on loop: BBTiming.RunLoop) throws -> Bool {
            try loop.run { [self] in
                let deadline = loop.now + Self.timeout
                while !hasEnded, loop.now < deadline {
                    noteStarvation()
                    try await loop.sleep(for: 1_000)
                }
                return hasEnded
            }
        }

        /// Time that its threads were runnable but not running, as last noted.
        var starved: Microseconds {
            noteStarvation()
            return starvation.values.reduce(.zero, +)
        }

        /// By thread. What is known of a thread that has ended is kept.
        private var starvation: [String: Microseconds] = [:]

        private func noteStarvation() {
            let threads = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(pid)/task")) ?? []
            for thread in threads {
                starvation[thread] = max(starvation[thread] ?? .zero, Self.starved("/proc/\(pid)/task/\(thread)/schedstat"))
            }
        }

        /// The same time for the calling thread.
        static var ownStarved: Microseconds { starved("/proc/thread-self/schedstat") }

        /// The second number: nanoseconds on a run queue. Zero if the kernel does not count them.
        private static func starved(_ file: String) -> Microseconds {
            guard let text = try? String(contentsOfFile: file, encoding: .ascii) else { return .zero }
            let words = text.split { $0 == " " || $0 == "\n" }
            return Microseconds((words.count > 1 ? Int64(words[1]) ?? 0 : 0) / 1_000)
        }
    }
#endif
