import BBCases
import BBConformance
import BBPackets
import BBTiming
import Foundation

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// The progress of a run: one changing line on a terminal, otherwise a line for each case.
final class ProgressLine: RunObserver {
    var total: Int
    /// The expected duration of a run against a device over the air.
    var forecast: RunForecast?
    private let isTerminal = isatty(STDOUT_FILENO) == 1
    /// Returns the reason why the user expects the failure of a case; nil if not.
    var expectation: (CaseResult) -> String? = { _ in nil }
    private let known: Int
    private let began = MonotonicClock.now()
    private var shownAt = MonotonicClock.now()
    private var done: Int
    private var waitedFor: String?
    private let isQuiet: Bool
    private let isColoured: Bool
    /// The start of the current case.
    private(set) var caseBegan: String?

    /// - Parameters:
    ///   - done: the results that are already known.
    ///   - isQuiet: true to display only cases that need attention.
    init(total: Int, done: Int, isQuiet: Bool, isColoured: Bool) {
        (self.isQuiet, self.isColoured) = (isQuiet, isColoured)
        self.total = total
        self.done = done
        known = done
    }

    func began(_ testCase: TestCase, index: Int) {
        caseBegan = Self.date()
        if isTerminal { show(testCase.id) }
    }

    func reached(_ step: String, in testCase: TestCase) {
        guard isTerminal, MonotonicClock.now() - shownAt > .milliseconds(100) else { return }
        show("\(testCase.id): \(step)")
    }

    func ended(_ result: CaseResult) {
        done += 1
        if isTerminal { Console.write("\r\u{1B}[K") }
        let isFine = result.verdict == .pass || isQuiet && result.verdict == .notApplicable
        if !isFine || result.isFlaky || !(isTerminal || isQuiet) {
            Console.write(Self.line(result, isColoured: isColoured, expected: expectation(result)) + "\n")
        }
        if let text = forecast?.add(result.id, took: .seconds(result.durationMilliseconds / 1_000)), !isQuiet {
            Console.line("length   \(text)")
        }
    }

    /// Returns the current time in ISO 8601, in UTC.
    private static func date() -> String {
        Date().formatted(.iso8601.year().month().day().time(includingFractionalSeconds: true)) + "Z"
    }

    func waits(for device: String, because reason: String, left: Microseconds) {
        let text = "waiting for \(device) (\(reason)): \(Int(saturating: left.seconds.rounded(.up))) s left"
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
        let left = forecast?.left?.seconds ?? (done > known ? elapsed / Double(done - known) * Double(total - done) : nil)
        let rest = left.map { $0 < 1 ? "" : ", \(Int(saturating: $0.rounded())) s left" } ?? ""
        let line = PlainText.escaped("\(min(done + 1, total))/\(total)\(rest)  \(text)")
        Console.replaceLine(line)
    }

    /// Returns the line of a case for a terminal.
    static func line(_ result: CaseResult, isColoured: Bool = false, expected: String? = nil) -> String {
        ColourOption.text(result.verdict, isColoured: isColoured) + "  " + PlainText.escaped(rest(result, expected))
    }

    /// Returns the text after the verdict.
    private static func rest(_ result: CaseResult, _ expected: String?) -> String {
        var line = result.id
        if result.isFlaky { line += " (flaky: \(result.attempts.map(\.verdict.rawValue).joined(separator: ", ")))" }
        if let expected { line += " (expected: \(expected))" }
        if !result.message.isEmpty { line += ": \(result.message)" }
        if let step = result.failedStep { line += " [\(step.position)]" }
        let numbers = result.evidence.map(\.packet).filter { $0 > 0 && !line.names(packet: $0) }
        if result.verdict != .pass, !numbers.isEmpty { line += " (packets \(numbers.map(String.init).joined(separator: ", ")))" }
        return line.split(separator: "\n").joined(separator: " ")
    }

    /// - Parameter isSimulated: true for a run in virtual time.
    static func summary(_ result: RunResult, elapsed: Microseconds, isSimulated: Bool) -> String {
        let virtual = result.cases.reduce(0) { $0 + $1.virtualMilliseconds } / 1_000
        let wall = (elapsed.seconds * 10).rounded() / 10
        let time = isSimulated ? "\(Int(saturating: virtual.rounded())) s simulated in \(wall) s" : "\(wall) s"
        return "\(counts(result)); \(time), seed \(result.seed)"
    }

    /// Returns the number of cases for each verdict.
    static func counts(_ result: RunResult) -> String {
        let parts = Verdict.allCases.filter { result.count($0) > 0 }.map { "\(result.count($0)) \($0.rawValue)" }
        let remarks = [(result.flakyCount, "flaky"), (result.expectedFailureCount, "expected")].filter { $0.0 > 0 }
        let remark = remarks.isEmpty ? "" : " (" + remarks.map { "\($0.0) \($0.1)" }.joined(separator: ", ") + ")"
        return parts.isEmpty ? "no case ran" : parts.joined(separator: ", ") + remark
    }
}

extension String {
    /// True if the text contains `packet 12` with this number.
    fileprivate func names(packet number: Int) -> Bool {
        ranges(of: "packet \(number)").contains { !(self[$0.upperBound...].first?.isNumber ?? false) }
    }
}
