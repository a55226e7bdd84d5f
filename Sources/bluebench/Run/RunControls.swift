import ArgumentParser
import BBCases
import BBConformance
import BBTiming
import Foundation

/// The options that limit a run.
struct RunControls: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Repeat a case that neither passes nor is N/A up to n times with new seeds; a later PASS is marked flaky.", valueName: "n"),
        transform: Arguments.whole(0...100))
    var retry = 0
    @Flag(help: ArgumentHelp("With --retry or --power-cycle: exit code 1 for a flaky case.", visibility: .hidden)) var failOnFlaky = false
    @Option(
        help: ArgumentHelp("Stop after n cases that end in FAIL or ERROR.", valueName: "n"),
        transform: Arguments.whole(1...1_000_000))
    var maxFailures: Int?
    @Option(
        help: ArgumentHelp("Timeout of the whole run; cases that have not run by then are INCONC.", valueName: "seconds"),
        transform: Arguments.whole(1...31_536_000))
    var timeout: Int?
    @Flag(
        help: """
            Of an accessory's cases only as many as fit into about four minutes: each section, public id and rule once, ATT_MTU 23 and 247.
            """) var quick = false
    @Flag(help: "Continue the interrupted run in the folder of --report.") var resume = false
    @Flag(
        help: ArgumentHelp(
            "Repeat each FAIL with the two dongles exchanged, and report whether it stays with the dongle.", visibility: .hidden))
    var swap = false
    @Flag(help: "Also measure throughput and chart it in the page; two virtual devices only.") var throughput = false

    /// Rejects options without effect.
    func check(report: String?, page: String?, repeats: Bool) throws {
        if Arguments.given("--fail-on-flaky"), retry == 0, !repeats {
            throw CommandFailure(.usage, "--fail-on-flaky needs --retry or --power-cycle: without them no case is repeated")
        }
        if resume, report == nil {
            throw CommandFailure(.usage, "--resume needs --report: the folder of the run to continue")
        }
        if throughput, report == nil, page == nil {
            throw CommandFailure(.usage, "--throughput needs --html or --report: the figures are drawn into a page")
        }
    }

    func apply(to plan: inout RunPlan) {
        (plan.retries, plan.failsOnFlaky, plan.mostFailures) = (retry, failOnFlaky, maxFailures)
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
