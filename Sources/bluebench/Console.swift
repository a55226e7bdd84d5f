#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// The process's standard streams, unbuffered, and its end.
enum Console {
    /// Writes one line to the standard output at once, so that a program reading a pipe sees it.
    static func line(_ text: String) { write(text + "\n", to: STDOUT_FILENO) }

    /// Writes text to the standard output at once.
    static func write(_ text: String) { write(text, to: STDOUT_FILENO) }

    /// Writes one line for people to the standard error stream.
    static func complain(_ text: String) {
        let line = text.split(separator: "\n").joined(separator: "; ")
        write("bluebench: \(line)\n", to: STDERR_FILENO)
    }

    /// Writes one line for people to the standard error stream that begins with the place it is about.
    static func problem(_ text: String) { write(text + "\n", to: STDERR_FILENO) }

    static func leave(with code: Int32) -> Never { exit(code) }

    private static func write(_ text: String, to descriptor: Int32) {
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let written = rest.withUnsafeBytes { systemWrite(descriptor, $0.baseAddress, $0.count) }
            guard written > 0 else {
                if written < 0, errno == EINTR { continue }
                return
            }
            rest = rest.dropFirst(written)
        }
    }
}

private func systemWrite(_ descriptor: Int32, _ bytes: UnsafeRawPointer?, _ count: Int) -> Int { write(descriptor, bytes, count) }
