import Packets
import Synchronization
import Transport

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// The process's standard streams, unbuffered, and its end.
enum Console {
    /// Whether the standard output is a terminal.
    static var isTerminal: Bool { isatty(STDOUT_FILENO) == 1 }

    /// Why the standard output takes nothing more: the first error number, zero while all is well.
    private static let outputFailure = Atomic<Int32>(0)

    /// True if the reader of the standard output has gone.
    static var isOutputGone: Bool { outputFailure.load(ordering: .relaxed) == EPIPE }

    /// Gives the descriptors 0 to 2 to the null device where the caller closed them: else the first file that is opened would get the
    /// output of the program.
    static func fillStandardStreams() {
        for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) < 0 {
            let null = open("/dev/null", O_RDWR)
            if null > STDERR_FILENO { close(null) }
        }
    }

    /// Writes one line to the standard output at once, so that a program reading a pipe sees it. Control characters are written out.
    static func line(_ text: String) { write(plain(text) + "\n") }

    /// Writes text to the standard output at once, as it is.
    static func write(_ text: String) { write(utf8: Array(text.utf8)) }

    static func write(utf8 octets: [UInt8]) {
        let failure = writeAll(octets[...], to: STDOUT_FILENO)
        if failure != 0 { _ = outputFailure.compareExchange(expected: 0, desired: failure, ordering: .relaxed) }
    }

    /// Shows a line in place of the one that the terminal's cursor is in, cut so that it does not wrap.
    static func replaceLine(_ text: String) {
        var size = winsize()
        let isKnown = ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0 && size.ws_col > 0
        write("\r\u{1B}[K" + PlainText.escaped(text).prefix(isKnown ? Int(size.ws_col) - 1 : 99))
    }

    /// Writes one line for people to the standard error stream.
    static func complain(_ text: String) {
        let line = text.split(separator: "\n").joined(separator: "; ")
        _ = write("bluebench: \(PlainText.escaped(line))\n", to: STDERR_FILENO)
    }

    /// Writes one line for people to the standard error stream that begins with the place it is about.
    static func problem(_ text: String) { _ = write(plain(text) + "\n", to: STDERR_FILENO) }

    /// Ends the process. Output that was lost turns success into a failure of the bench, unless its reader went away by itself.
    static func leave(with code: Int32) -> Never {
        let failure = outputFailure.load(ordering: .relaxed)
        guard failure != 0, failure != EPIPE, code <= 1 else { exit(code) }
        complain("cannot write to the standard output: \(systemText(failure))")
        exit(3)
    }

    /// The standard output for a document alone: from now on, lines for people go to the standard error stream.
    static func takeOutput() -> Int32 {
        let output = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3)
        dup2(STDERR_FILENO, STDOUT_FILENO)
        return output
    }

    /// What came from outside moves no cursor and changes no colour.
    private static func plain(_ text: String) -> String {
        text.split(separator: "\n", omittingEmptySubsequences: false).map { PlainText.escaped(String($0)) }.joined(separator: "\n")
    }

    /// The error number, or zero.
    private static func write(_ text: String, to descriptor: Int32) -> Int32 { writeAll(Array(text.utf8)[...], to: descriptor) }
}
