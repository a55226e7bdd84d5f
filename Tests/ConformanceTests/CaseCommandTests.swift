import BBPackets
import BBTiming
import Testing

@testable import BBCases
@testable import BBConformance

/// The user's commands around each case. They are real shells, in the system's time; the cases run in virtual time.
struct CaseCommandTests {
    private static func run(
        _ id: String = "hci/buffer-size", before: String? = nil, after: String? = nil, power: String? = nil, retries: Int = 0,
        timeout: Microseconds = .seconds(300), fault: Fault = Fault(), stopping: Bool = false
    ) throws -> CaseResult {
        var plan = try RunPlan(
            catalogue: try SuiteTests.catalogue(), setup: BenchSetup(tester: .virtual, subject: .virtual, seed: 1), filters: [id])
        (plan.commands.beforeCase, plan.commands.afterCase, plan.commands.powerCycle) = (before, after, power)
        (plan.commands.timeout, plan.retries) = (timeout, retries)
        let runner = Runner(plan, recorder: try Recorder(path: nil), fault: fault)
        return try #require(runner.run().cases.first)
    }

    @Test func describeTheCaseByTheEnvironment() throws {
        let show = #"echo "$BLUEBENCH_CASE|$BLUEBENCH_ATTEMPT|$BLUEBENCH_OCCASION|$BLUEBENCH_VERDICT|""#
        let result = try Self.run(before: show, after: show)
        #expect(result.verdict == .pass && result.commands.map(\.exitCode) == [0, 0])
        #expect(
            result.commands.map(\.output) == [
                "hci/buffer-size|1|before-case||\n", "hci/buffer-size|1|after-case|PASS|\n",
            ])
    }

    /// Commands before and after, the verdict, and the message.
    static let rows: [(before: String?, after: String?, verdict: Verdict, message: String)] = [
        ("echo no relay >&2; exit 7", nil, .error, "the command of --before-case failed, exit code 7: no relay"),
        (nil, "printf 'a\\nb\\033[31m\\n'; exit 1", .error, "the command of --after-case failed, exit code 1: b\\u{1B}[31m"),
        ("kill -9 $$", nil, .error, "the command of --before-case failed, ended by signal 9"),
        ("exit 0", "cat; exit 0", .pass, ""),
        // A process that stays in the background is not waited for.
        ("(trap '' TERM; cat /dev/zero >/dev/null) & echo $! ; kill -9 $!", nil, .pass, ""),
    ]

    @Test(arguments: rows)
    func failuresAreErrorsOfTheCase(_ row: (before: String?, after: String?, verdict: Verdict, message: String)) throws {
        let result = try Self.run(before: row.before, after: row.after)
        #expect(result.verdict == row.verdict && result.message == row.message, "\(result.message)")
    }

    @Test func aFailIsKeptBesideAFailedCommand() throws {
        let mutants = try Mutant.load(
            SuiteTests.folder + "/mutants", catalogue: SuiteTests.catalogue(), vocabulary: .declared(covers: []))
        let fault = try #require(mutants.first { $0.id == "random-number-constant" }).fault
        let result = try Self.run("hci/random-numbers", after: "exit 3", fault: fault)
        #expect(result.verdict == .fail && result.notes.contains("the command of --after-case failed, exit code 3"))
    }

    /// The shell and its child ignore SIGTERM; both are ended.
    @Test func aCommandEndsAfterItsTime() throws {
        let result = try Self.run(before: "trap '' TERM; echo begun; while :; do read x </dev/zero; done", timeout: .milliseconds(200))
        #expect(result.verdict == .error && result.message.contains("it had not ended after 0 s"), "\(result.message)")
        #expect(result.commands.first?.exitCode == nil)
    }

    /// The power is switched before the repetition only, and one repetition needs no --retry.
    @Test(arguments: [0, 2]) func powerIsCycledBeforeARepeat(_ retries: Int) throws {
        let result = try Self.run(
            before: #"test "$BLUEBENCH_ATTEMPT" -gt 1"#, power: #"echo "$BLUEBENCH_ATTEMPT $BLUEBENCH_VERDICT""#, retries: retries)
        #expect(result.verdict == .pass && result.attempts.map(\.verdict) == [.error, .pass])
        #expect(result.commands.map(\.occasion) == [.beforeCase, .powerCycle, .beforeCase])
        #expect(result.commands[1].output == "2 ERROR\n")
    }

    @Test func aPowerCycleThatFailsIsAnErrorOfTheCase() throws {
        let result = try Self.run(before: "false", power: "echo hub gone; false")
        #expect(result.message == "the command of --power-cycle failed, exit code 1: hub gone" && result.commands.count == 2)
    }

    @Test func muchOutputIsCut() throws {
        let result = try Self.run(before: "i=0; while [ $i -lt 4000 ]; do echo 'twenty octets of text $i'; i=$((i+1)); done")
        let command = try #require(result.commands.first)
        #expect(result.verdict == .pass && command.output.utf8.count == 16_384 && command.omitted == 4_000 * 25 - 16_384)
    }
}
