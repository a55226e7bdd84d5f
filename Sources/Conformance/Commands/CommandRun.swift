import BBCases
import BBPackets
import BBProducts
import BBTiming

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

    private static let pollInterval: Int32 = 20

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

    /// Switches the product off and on in the middle of a case, while the loop continues.
    ///
    /// - Returns: the failure; nil if the command succeeded.
    /// - Throws: `CancellationError`, once the command has been killed.
    func switchPower(on loop: RunLoop) async throws -> String? {
        guard let command = commands.powerCycle else { return "no command switches the product off and on: --power-cycle names one" }
        let began = MonotonicClock.now()
        var report = CommandReport(.powerCycle, attempt: attempt)
        defer { end(report, since: began) }
        do throws(CommandProblem) {
            var watch = CommandWatch(try start(.powerCycle, command, after: nil, ""), since: began, limit: commands.timeout)
            while !watch.step(waiting: 0, isStopped: stopping.isRaised) {
                do {
                    try await pause(loop)
                } catch {
                    watch.kill()
                    report = watch.finished(report)
                    throw CommandProblem("the case ended")
                }
            }
            report = watch.finished(report)
        } catch { report.problem = error.text }
        try Task.checkCancellation()
        return report.failure
    }

    /// Waits for a moment; simulated time stands still meanwhile.
    private func pause(_ loop: RunLoop) async throws {
        guard loop.mode == .virtual else { return try await loop.sleep(for: .milliseconds(Int(Self.pollInterval))) }
        try Task.checkCancellation()
        CommandWatch.wait(milliseconds: Self.pollInterval)
    }

    /// Runs a command around a case, if there is one for the occasion.
    ///
    /// - Returns: the failure; nil if the command succeeded or there is none.
    private func run(_ occasion: CommandReport.Occasion, _ command: String?, after verdict: Verdict?, _ message: String) -> String? {
        guard let command else { return nil }
        let began = MonotonicClock.now()
        var report = CommandReport(occasion, attempt: attempt)
        do throws(CommandProblem) {
            var watch = CommandWatch(try start(occasion, command, after: verdict, message), since: began, limit: commands.timeout)
            while !watch.step(waiting: Self.pollInterval, isStopped: stopping.isRaised) {}
            report = watch.finished(report)
        } catch { report.problem = error.text }
        end(report, since: began)
        return report.failure
    }

    private func start(
        _ occasion: CommandReport.Occasion, _ command: String, after verdict: Verdict?, _ message: String
    ) throws(CommandProblem) -> ShellProcess {
        let variables = [
            "BLUEBENCH_CASE": testCase, "BLUEBENCH_ATTEMPT": "\(attempt)", "BLUEBENCH_OCCASION": occasion.rawValue,
            "BLUEBENCH_REPORT": commands.report ?? "", "BLUEBENCH_VERDICT": verdict?.rawValue ?? "",
            "BLUEBENCH_MESSAGE": PlainText.escaped(message),
        ]
        return try ShellProcess(command, environment: variables)
    }

    private func end(_ report: CommandReport, since began: Microseconds) {
        var report = report
        report.durationMilliseconds = (MonotonicClock.now() - began).milliseconds
        reports.append(report)
        lastEnd = MonotonicClock.now()
    }
}
