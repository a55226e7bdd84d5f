import ArgumentParser
import Conformance
import Foundation
import Timing

/// The options that limit a run.
struct RunControls: ParsableArguments {
    @Option(
        help: ArgumentHelp("End the run after so many cases that FAIL or end in ERROR.", valueName: "n"),
        transform: Arguments.whole(1...1_000_000))
    var maxFailures: Int?
    @Option(
        help: ArgumentHelp(
            "Try a case that neither passes nor is N/A again, up to so many times, with other random choices. A PASS after a FAIL is marked flaky.",
            valueName: "n"), transform: Arguments.whole(0...100))
    var retry = 0
    @Flag(help: "With --retry: a flaky case is a failure, exit code 1.") var failOnFlaky = false
    @Option(
        help: ArgumentHelp("End the whole run after so many seconds; cases that have not run by then are INCONC.", valueName: "s"),
        transform: Arguments.whole(1...31_536_000))
    var timeout: Int?
    @Option(help: ArgumentHelp("Run the i-th of n parts of the cases: 2/4.", valueName: "i/n"), transform: Self.shard) var shard: Shard?
    @Option(
        help: ArgumentHelp(
            "With --shard: results of an earlier run, by whose durations the parts are made equally long. Without it they have as many cases.",
            valueName: "results"), completion: .file())
    var durations: String?
    @Option(
        defaultAsFlag: "",
        help: ArgumentHelp(
            "Run only what did not pass in these results, results.json or a report folder; the folder of --report without a value.",
            valueName: "results"), completion: .file())
    var lastFailed: String?
    @Flag(help: "Print only cases that need attention, and the last lines.") var quiet = false
    @OptionGroup var colour: ColourOption

    private static let shard: @Sendable (String) throws -> Shard = { text in
        guard let shard = Shard(text) else { throw ValidationError("i/n with i from 1 to n: 2/4") }
        return shard
    }

    /// Rejects options without effect.
    func check(report: String?) throws {
        if durations != nil, shard == nil { throw CommandFailure(.usage, "--durations is for --shard") }
        if failOnFlaky, retry == 0 { throw CommandFailure(.usage, "--fail-on-flaky is for --retry: without it nothing is flaky") }
        if lastFailed == "", report == nil {
            throw CommandFailure(.usage, "--last-failed needs results: name a file or a report folder, or --report")
        }
    }

    /// Removes the cases from the plan that are not to be run.
    ///
    /// - Returns: false if no cases remain because all have passed.
    func narrow(_ plan: inout RunPlan, report: String?) throws -> Bool {
        (plan.retries, plan.mostFailures, plan.shard) = (retry, maxFailures, shard?.description)
        if let lastFailed {
            let (path, before) = try ResultsFile.read(lastFailed.isEmpty ? report ?? "" : lastFailed).named
            let wanted = Set(before.cases.filter { $0.verdict != .pass && $0.verdict != .notApplicable }.map(\.id))
            guard !wanted.isEmpty else {
                Console.line("everything in \(path) has passed")
                return false
            }
            plan.cases.removeAll { !wanted.contains($0.id) }
            guard !plan.cases.isEmpty else {
                throw CommandFailure(.usage, "none of what failed in \(path) is among the cases that would run: \(wanted.sorted()[0])")
            }
        }
        guard let shard else { return true }
        var known: [String: Double] = [:]
        if let durations {
            for result in try ResultsFile.read(durations).result.cases where !result.isNotRun {
                known[result.id] = result.durationMilliseconds
            }
        }
        let part = shard.part(of: plan.cases.map(\.id), durations: known)
        plan.cases.removeAll { !part.contains($0.id) }
        guard !plan.cases.isEmpty else { throw CommandFailure(.usage, "--shard \(shard): there are fewer cases than parts") }
        return true
    }

    /// Stops the run at its time limit.
    func limit(_ runner: Runner) {
        guard let timeout else { return }
        DispatchQueue.global().asyncAfter(deadline: .now() + .seconds(timeout)) {
            [stopping = runner.stopping, reason = runner.stopReason] in
            reason.tell("the run's time was up (--timeout \(timeout))")
            stopping.raise()
        }
    }
}
