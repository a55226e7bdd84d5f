import BBConformance
import BBPackets
import BBReport
import BBTiming
import Foundation

/// The last lines of a run: the number of verdicts, influences of the machine and the devices, the report's path and the next commands.
struct RunClosing {
    var result: RunResult
    var slack: Microseconds
    /// The duration of the run in real time.
    var elapsed: Microseconds
    var folder: String?
    var isColoured: Bool
    var isSimulated: Bool

    func tell() {
        let open = result.cases.count(where: \.isNotRun)
        var ran = result
        ran.cases.removeAll(where: \.isNotRun)
        Console.line(ProgressLine.summary(ran, elapsed: elapsed, isSimulated: isSimulated))
        if open > 0 { Console.line("\(Console.count(open, "case")) not run: \(result.ending ?? "")") }
        if let late = result.worstSchedulingDelayMilliseconds, late > slack.milliseconds / 2 {
            Console.line(
                "the machine served the bench up to \(Int(saturating: late)) ms late; the slack of windows is \(Int(saturating: slack.milliseconds)) ms"
            )
        }
        for testCase in result.cases { if let swap = testCase.swap { Console.line("swap  \(testCase.id): \(swap.line)") } }
        for testCase in result.cases where testCase.isFlaky { Console.line("flaky  \(testCase.id): \(Self.history(testCase))") }
        for text in result.scorecard?.contradictions ?? [] { Console.line("refused  \(text)") }
        Self.tellPasses(of: result)
        for device in result.devices { for learned in device.learned { Console.line("\(device.side) \(device.device): \(learned.line)") } }
        for device in result.devices { if let race = device.race { Console.line("\(device.side) \(device.device): \(race)") } }
    }

    /// Names the expected failures that did not come.
    static func tellPasses(of result: RunResult) {
        for expected in result.unexpectedPasses {
            Console.line("not failed  \(expected.id): remove it from the expected failures (\(expected.reason))")
        }
    }

    /// Displays the report's path and the next commands. Called after the report was written.
    func tellWhereToGoOn() {
        guard let folder, FileManager.default.fileExists(atPath: folder + "/index.html") else { return }
        Console.line("report  \(folder)/index.html")
        if result.cases.contains(where: \.isNotRun) || result.isInterrupted {
            Console.line("to go on  \(Self.again(adding: ["--resume"], removing: ["--last-failed"]))")
        } else if result.cases.contains(where: { $0.verdict != .pass && $0.verdict != .notApplicable }) {
            Console.line("once more, what did not pass  \(Self.again(adding: ["--last-failed"], removing: ["--resume", "--last-failed"]))")
        }
    }

    private static func history(_ testCase: CaseResult) -> String {
        let verdicts = testCase.attempts.map(\.verdict.rawValue).joined(separator: ", ")
        let reason = testCase.flakyAttempt?.message ?? ""
        return "\(verdicts): \(reason.split(separator: "\n").joined(separator: " "))"
    }

    /// Returns the command line of this run with changed options, quoted for a shell.
    private static func again(adding added: [String], removing removed: Set<String>) -> String {
        let own = CommandLine.arguments.dropFirst().filter { argument in
            !removed.contains(String(argument.prefix { $0 != "=" })) && !added.contains(argument)
        }
        return RunFacts.shell(["bluebench"] + own + added)
    }
}
