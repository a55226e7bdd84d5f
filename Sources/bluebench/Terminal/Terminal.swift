import BBPackets
import BBSessions
import BBTiming
import BBTransport

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// The screen of a session on the terminal: the standard streams.
final class Terminal: Screen {
    private let input: TerminalInput
    private let waiting: WaitLine

    init(on loop: RunLoop) {
        input = TerminalInput(on: loop)
        waiting = WaitLine(on: loop, isSilent: false)
    }

    func line(_ text: String) { Console.line(text) }
    func write(_ text: String) { Console.write(text) }
    func complain(_ text: String) { Console.complain(text) }
    func progress(_ text: String) { _ = writeAll(Array("\r\u{1B}[K\(text)".utf8)[...], to: STDERR_FILENO) }
    var showsProgress: Bool { isatty(STDERR_FILENO) == 1 }
    func ask(_ answer: @escaping (String?) -> Void) { input.line(answer) }
    func forgetQuestion() { input.forget() }
    func wait(for text: String, until deadline: Microseconds) { waiting.begin(text, until: deadline) }
    func endWait() { waiting.end() }
}
