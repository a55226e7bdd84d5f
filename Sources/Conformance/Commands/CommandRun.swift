import Cases
import Foundation
import Packets
import Timing

/// Runs the commands around one case, and repeats of it.
final class CommandRun {
    private let commands: CaseCommands
    private let stopping: StopFlag
    private var testCase = ""
    private var attempt = 0
    private var previous: Verdict?
    /// The commands that ran for this case.
    private(set) var reports: [CommandReport] = []

    /// The end of the last command.
    private(set) var lastEnd: Microseconds?

    /// The time from SIGTERM to SIGKILL.
    private static let grace = Microseconds.milliseconds(700)
    private static let pollInterval: Int32 = 20
    private static let mostOutput = 16_384

    init(_ commands: CaseCommands, stopping: StopFlag) { (self.commands, self.stopping) = (commands, stopping) }

    func begin(_ testCase: TestCase) { (self.testCase, attempt, previous, reports) = (testCase.id, 0, nil, []) }

    /// The number of retries of a case with this verdict: a product is switched off and on once, even without --retry.
    func retries(after verdict: Verdict, planned: Int) -> Int {
        commands.powerCycle != nil && Self.isDoubtful(verdict) ? max(1, planned) : planned
    }

    /// Runs an attempt between its commands. A command that fails makes it ERROR, unless it has FAILed.
    func around(_ testCase: TestCase, _ run: () -> CaseResult) -> CaseResult {
        guard !commands.isEmpty else { return run() }
        attempt += 1
        var result = CaseResult(id: testCase.id, title: testCase.title, verdict: .error)
        let powerCycle = previous.map(Self.isDoubtful) == true ? commands.powerCycle : nil
        let failure =
            self.run(.powerCycle, powerCycle, after: previous, "") ?? self.run(.beforeCase, commands.beforeCase, after: previous, "")
        if let failure {
            (result.message, previous) = (failure, .error)
            if stopping.isRaised { (result.verdict, result.message) = (.inconclusive, "the run was stopped") }
            return result
        }
        result = run()
        previous = result.verdict
        if !stopping.isRaised, let failure = self.run(.afterCase, commands.afterCase, after: result.verdict, result.message) {
            if result.verdict == .fail || stopping.isRaised {
                result.notes.append(failure)
            } else {
                if !result.message.isEmpty { result.notes.append("\(result.verdict.rawValue) before that: \(result.message)") }
                (result.verdict, result.message, previous) = (.error, failure, .error)
            }
        }
        return result
    }

    private static func isDoubtful(_ verdict: Verdict) -> Bool { verdict == .inconclusive || verdict == .error }

    /// Runs a command around a case, if there is one for the occasion.
    ///
    /// - Returns: the failure; nil if the command succeeded or there is none.
    private func run(_ occasion: CommandReport.Occasion, _ command: String?, after verdict: Verdict?, _ message: String) -> String? {
        guard let command else { return nil }
        let variables = [
            "BLUEBENCH_CASE": testCase, "BLUEBENCH_ATTEMPT": "\(attempt)", "BLUEBENCH_OCCASION": occasion.rawValue,
            "BLUEBENCH_REPORT": commands.report ?? "", "BLUEBENCH_VERDICT": verdict?.rawValue ?? "",
            "BLUEBENCH_MESSAGE": PlainText.escaped(message),
        ]
        var report = CommandReport(occasion, attempt: attempt)
        let began = MonotonicClock.now()
        do throws(CommandProblem) {
            let process = try ShellProcess(command, environment: variables)
            watch(process, since: began, &report)
        } catch { report.problem = error.text }
        report.durationMilliseconds = (MonotonicClock.now() - began).milliseconds
        reports.append(report)
        lastEnd = MonotonicClock.now()
        return report.failure
    }

    /// Reads the output until the shell ends. After its time, or when the run is stopped, its process group gets SIGTERM, then SIGKILL.
    private func watch(_ process: ShellProcess, since began: Microseconds, _ report: inout CommandReport) {
        var output: [UInt8] = []
        var (isOpen, killAt) = (true, Microseconds.never)
        func keep(_ octets: [UInt8]) {
            output += octets
            guard output.count > 2 * Self.mostOutput else { return }
            report.omitted += output.count - Self.mostOutput
            output.removeFirst(output.count - Self.mostOutput)
        }
        var end = process.ended()
        while end == nil {
            if isOpen, let octets = process.read(waiting: Self.pollInterval) {
                keep(octets)
            } else {
                // The shell has closed its output, so there is only its end to wait for.
                isOpen = false
                poll(nil, 0, Self.pollInterval)
            }
            end = process.ended()
            let now = MonotonicClock.now()
            if report.problem == nil, stopping.isRaised || now - began >= commands.timeout {
                report.problem = stopping.isRaised ? "the run was stopped" : "it had not ended after \(Int(commands.timeout.seconds)) s"
                process.signal(SIGTERM)
                killAt = now + Self.grace
            }
            if now >= killAt {
                process.signal(SIGKILL)
                killAt = .never
            }
        }
        // A process that stays in the background keeps the pipe open; only what is there now is read.
        while isOpen, output.count < 4 * Self.mostOutput, let octets = process.read(waiting: 0), !octets.isEmpty { keep(octets) }
        if report.problem != nil { process.signal(SIGKILL) }
        switch end {
        case .exited(let code) where report.problem == nil: report.exitCode = code
        case .signalled(let number) where report.problem == nil: report.problem = "ended by signal \(number)"
        case .exited, .signalled, nil: break
        }
        report.omitted += max(0, output.count - Self.mostOutput)
        report.output = Self.text(output.suffix(Self.mostOutput))
    }

    private static func text(_ octets: ArraySlice<UInt8>) -> String {
        String(decoding: octets, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false)
            .map { line in PlainText.escaped(String(line.hasSuffix("\r") ? line.dropLast() : line)) }
            .joined(separator: "\n")
    }
}
