import BBTiming

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// Reads lines from the standard input, one for each question. It reads only while a question is open.
final class TerminalInput {
    private let loop: RunLoop
    private var text: [UInt8] = []
    private var waiting: ((String?) -> Void)?
    private var isWatched = false
    private var isOver = false

    /// The maximum number of octets in a line; longer lines are ignored.
    private static let longest = 4096

    init(on loop: RunLoop) {
        self.loop = loop
    }

    /// Requests a line; nil after the end of the input. A new question replaces an open one.
    func line(_ answer: @escaping (String?) -> Void) {
        waiting = answer
        deliver()
    }

    /// Cancels the open question.
    func forget() { waiting = nil }

    private func deliver() {
        guard waiting != nil else { return }
        if let end = text.firstIndex(of: 0x0A) {
            let line = String(decoding: text[..<end], as: UTF8.self)
            text.removeSubrange(...end)
            return take(line)
        }
        if isOver || text.count > Self.longest { return take(nil) }
        guard !isWatched else { return }
        isWatched = true
        loop.watch(STDIN_FILENO, for: .read) { [self] _ in received() }
    }

    private func take(_ line: String?) {
        let answer = waiting
        waiting = nil
        answer?(line)
    }

    private func received() {
        isWatched = false
        loop.unwatch(STDIN_FILENO)
        var part = [UInt8](repeating: 0, count: 1024)
        let count = read(STDIN_FILENO, &part, part.count)
        if count > 0 { text += part[..<count] } else if count == 0 || errno != EINTR { isOver = true }
        deliver()
    }
}
