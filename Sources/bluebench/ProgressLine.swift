import Conformance
import Packets
import Timing

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// What a run shows while it goes on: a line that changes on a terminal, a line for each case elsewhere.
final class ProgressLine: RunObserver {
    private let total: Int
    private let isTerminal = isatty(STDOUT_FILENO) == 1
    private let known: Int
    private let began = MonotonicClock.now()
    private var shownAt = MonotonicClock.now()
    private var done: Int
    private var waitedFor: String?

    /// - Parameter done: the results that are known already.
    init(total: Int, done: Int) {
        self.total = total
        self.done = done
        known = done
    }

    func began(_ testCase: TestCase, index: Int) {
        if isTerminal { show(testCase.id) }
    }

    func reached(_ step: String, in testCase: TestCase) {
        guard isTerminal, MonotonicClock.now() - shownAt > .milliseconds(100) else { return }
        show("\(testCase.id): \(step)")
    }

    func ended(_ result: CaseResult) {
        done += 1
        if isTerminal { Console.write("\r\u{1B}[K") }
        if !isTerminal || result.verdict != .pass { Console.line(Self.line(result)) }
    }

    func waits(for device: String, because reason: String, left: Microseconds) {
        let text = "waiting for \(device) (\(reason)): \(Int(left.seconds.rounded(.up))) s left"
        if isTerminal {
            show(text)
        } else if waitedFor != device || MonotonicClock.now() - shownAt >= .seconds(10) {
            shownAt = MonotonicClock.now()
            Console.line(text)
        }
        waitedFor = device
    }

    func isBack(_ device: String, after time: Microseconds) {
        waitedFor = nil
        if isTerminal { Console.write("\r\u{1B}[K") }
        Console.line("\(device) is back after \((time.seconds * 10).rounded() / 10) s")
    }

    func end() {
        if isTerminal { Console.write("\r\u{1B}[K") }
    }

    private func show(_ text: String) {
        shownAt = MonotonicClock.now()
        let elapsed = (shownAt - began).seconds
        let left = done > known ? elapsed / Double(done - known) * Double(total - done) : nil
        let rest = left.map { $0 < 1 ? "" : ", \(Int($0.rounded())) s left" } ?? ""
        let line = PlainText.escaped("\(min(done + 1, total))/\(total)\(rest)  \(text)")
        Console.write("\r\u{1B}[K" + line.prefix(Self.width))
    }

    private static var width: Int {
        var size = winsize()
        return ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0 && size.ws_col > 20 ? Int(size.ws_col) : 100
    }

    static func line(_ result: CaseResult) -> String {
        let verdict = result.verdict.rawValue + String(repeating: " ", count: max(0, 6 - result.verdict.rawValue.count))
        var line = "\(verdict)  \(result.id)"
        if !result.message.isEmpty { line += ": \(result.message)" }
        if let step = result.failedStep { line += " [\(step.position)]" }
        let numbers = result.evidence.map(\.packet).filter { $0 > 0 }
        if result.verdict != .pass, !numbers.isEmpty { line += " (packets \(numbers.map(String.init).joined(separator: ", ")))" }
        return line.split(separator: "\n").joined(separator: " ")
    }

    static func summary(_ result: RunResult) -> String {
        let parts = Verdict.allCases.filter { result.count($0) > 0 }.map { "\(result.count($0)) \($0.rawValue)" }
        let virtual = result.cases.reduce(0) { $0 + $1.virtualMilliseconds } / 1_000
        let text = parts.isEmpty ? "no case ran" : parts.joined(separator: ", ")
        return "\(text); \(Int(virtual.rounded())) s of the run's own time, seed \(result.seed)"
    }
}
