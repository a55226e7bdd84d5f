import BBPackets
import BBSessions
import BBTransport
import Synchronization

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// The process's standard streams, unbuffered, and its exit.
enum Console {
    /// `1 case`, `2 cases`.
    static func count(_ count: Int, _ noun: String) -> String { Plural.count(count, noun) }

    /// True if the standard output is a terminal.
    static var isTerminal: Bool { isatty(STDOUT_FILENO) == 1 }

    /// The first error number of a failed write to the standard output; zero if there was none.
    private static let outputFailure = Atomic<Int32>(0)

    /// True if the reader of the standard output has closed it.
    static var isOutputGone: Bool { outputFailure.load(ordering: .relaxed) == EPIPE }

    /// Opens the null device for descriptors 0 to 2 that the caller has closed: otherwise the first opened file would receive the
    /// program's output.
    static func fillStandardStreams() {
        for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) < 0 {
            let null = open("/dev/null", O_RDWR)
            if null > STDERR_FILENO { close(null) }
        }
    }

    /// Writes one line to the standard output immediately, for programs that read a pipe. Control characters are escaped.
    static func line(_ text: String) { write(plain(text) + "\n") }

    /// Writes text to the standard output immediately and unchanged.
    static func write(_ text: String) { write(utf8: Array(text.utf8)) }

    static func write(utf8 octets: [UInt8]) {
        let failure = writeAll(octets[...], to: STDOUT_FILENO)
        if failure != 0 { _ = outputFailure.compareExchange(expected: 0, desired: failure, ordering: .relaxed) }
    }

    /// The sign at the end of a line that was cut: an ellipsis, if the locale's characters are those of UTF-8.
    static let ellipsis: String = {
        let values = ["LC_ALL", "LC_CTYPE", "LANG"].map { (name: String) -> String in getenv(name).map { String(cString: $0) } ?? "" }
        let locale = (values.first { !$0.isEmpty } ?? "").lowercased()
        return locale.contains("utf-8") || locale.contains("utf8") ? "…" : "~"
    }()

    /// Number of columns of the terminal; nil if the standard output is none.
    static var width: Int? {
        var size = winsize()
        return ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0 && size.ws_col > 0 ? Int(size.ws_col) : nil
    }

    /// Replaces the current line of the terminal, cut to its width.
    static func replaceLine(_ text: String) { write("\r\u{1B}[K" + PlainText.escaped(text).prefix(width.map { $0 - 1 } ?? 99)) }

    /// Writes a message to the standard error stream.
    static func complain(_ text: String) {
        let line = text.split(separator: "\n").joined(separator: "; ")
        _ = write("bluebench: \(PlainText.escaped(line))\n", to: STDERR_FILENO)
    }

    /// Writes a message to the standard error stream that begins with a position.
    static func problem(_ text: String) { _ = write(plain(text) + "\n", to: STDERR_FILENO) }

    /// Ends the process. Lost output changes success to a failure of the bench, unless the reader has closed the output.
    static func leave(with code: Int32) -> Never {
        let failure = outputFailure.load(ordering: .relaxed)
        guard failure != 0, failure != EPIPE, code <= 1 else { exit(code) }
        complain("cannot write to the standard output: \(systemText(failure))")
        exit(3)
    }

    /// Escapes control characters, so that external text cannot control the terminal.
    private static func plain(_ text: String) -> String {
        text.split(separator: "\n", omittingEmptySubsequences: false).map { PlainText.escaped(String($0)) }.joined(separator: "\n")
    }

    /// Returns the error number, or zero.
    private static func write(_ text: String, to descriptor: Int32) -> Int32 { writeAll(Array(text.utf8)[...], to: descriptor) }
}
