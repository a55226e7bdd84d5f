import Timing

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// Lines from the standard input, one for each question. Only while a question is open is anything read.
final class TerminalInput {
    private let loop: RunLoop
    private var text: [UInt8] = []
    private var waiting: ((String?) -> Void)?
    private var isWatched = false
    private var isOver = false

    /// Octets of a line; a longer one is an answer to nothing.
    private static let longest = 4096

    init(on loop: RunLoop) {
        self.loop = loop
    }

    /// Asks for a line; nil when the input has ended. A new question takes the place of one that is open.
    func line(_ answer: @escaping (String?) -> Void) {
        waiting = answer
        deliver()
    }

    /// The question does not matter any more.
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
