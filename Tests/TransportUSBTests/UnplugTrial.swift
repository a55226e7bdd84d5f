#if os(Linux)
    import Foundation
    import BBPackets
    import BBTiming
    import BBVirtualDongle

    /// One run of the program in which a dongle is unplugged, and the checks of its end.
    struct UnplugTrial: Sendable, CustomStringConvertible {
        /// Phase of the program at the unplug. It is recognized by the program's actions on the fake usbfs, not by time, so that it is the
        /// same on any machine.
        enum Phase: CaseIterable, Sendable {
            case enumeration
            case claim
            case startup
            case cases
            /// In a case that waits.
            case rest
            case teardown
        }

        var seed: UInt64
        var phase: Phase
        var victim: Int
        /// The request of the phase after which the dongle is unplugged, and the delay after it.
        var ordinal: Int
        var delay: Microseconds

        static let quick = [
            "gap-conn/central", "hci/encrypt", "gap-conn/answers-version[side=peripheral]", "hci/completed-packets[size=few]",
            "gap-conn/data-both-ways", "hci/unsupported-command",
        ]
        static let resting = ["hci/reset-while-advertising"]
        /// Maximum time from the unplug to the end of the process.
        static let bound = Microseconds.seconds(2)

        var cases: [String] { phase == .rest ? Self.resting : Self.quick }
        var description: String {
            "seed \(seed): dongle \(victim + 1) out \(delay.milliseconds) ms after request \(ordinal) of the phase \(phase)"
        }

        init(seed: UInt64) {
            var random = RandomSource(seed: seed, label: "unplug")
            self.seed = seed
            let phases = Phase.allCases
            phase = phases[Int(seed % UInt64(phases.count))]
            victim = Int.random(in: 0...1, using: &random)
            let (last, longest): (Int, Int64)
            switch phase {
            case .enumeration: (last, longest) = (12, 2_000)
            case .claim: (last, longest) = (2, 1_000)
            case .startup: (last, longest) = (18, 40_000)
            case .cases: (last, longest) = (120, 5_000)
            case .rest: (last, longest) = (30, 1_500_000)
            case .teardown: (last, longest) = (16, 500)
            }
            ordinal = Int.random(in: 1...last, using: &random)
            delay = Bool.random(using: &random) ? .zero : Microseconds(Int64.random(in: 0...longest, using: &random))
        }

        /// True if a request belongs to the phase, given the requests before it.
        func counts(_ activity: UsbfsServer.Activity, claimsBefore claims: Int) -> Bool {
            switch (phase, activity) {
            case (.enumeration, _): true
            case (.claim, .claim): true
            case (.startup, .submit), (.cases, .submit), (.rest, .submit): claims >= 2
            case (.teardown, .discard), (.teardown, .release): true
            default: false
            }
        }
    }

    /// Result of a trial.
    struct UnplugOutcome: Sendable {
        /// It ended later than the program may. A machine that stood still for a moment makes one so, a program that waits every time.
        var isLate = false
        var trial: UnplugTrial
        /// Time from the unplug to the end of the process.
        var wall = Microseconds.zero
        /// The part of it in which the program or the fake was runnable but not running.
        var starved = Microseconds.zero
        var problems: [String] = []
        /// The slowest case, for information.
        var slowestCase = ""
    }

    extension UnplugTrial {
        /// State that changes while the program runs.
        private final class State {
            var claims = 0
            var seen = 0
            var unpluggedAt: Microseconds?
            var starvedBefore = Microseconds.zero
        }

        /// Runs the program and unplugs the dongle.
        ///
        /// The limit of two seconds applies to the program: running, sleeping, waiting for the dongle. On a loaded machine it is longer by
        /// three times the time that its threads or the fake's spent in a run queue, as counted by the kernel: what a thread has waited just
        /// before its end is not seen. A program that hangs or sleeps is not in a run queue. Where the program has ended before the delay
        /// was over, the dongle stays.
        func run() throws -> UnplugOutcome {
            let bus = try FakeUsbfsBus()
            let report = bus.folder + ".report"
            defer { try? FileManager.default.removeItem(atPath: report) }
            let program = try SpawnedProgram(
                ["run"] + cases + ["--tester", "usb:1-1", "--subject", "usb:1-2", "--report", report], folder: bus.folder)
            let state = State()
            let (server, loop, victim) = (bus.server, bus.loop, victim)
            // The closure below keeps the program, whose output file goes with it.
            defer { server.onActivity = nil }
            let unplug: () -> Void = {
                guard state.unpluggedAt == nil else { return }
                state.starvedBefore = program.starved + SpawnedProgram.ownStarved
                state.unpluggedAt = MonotonicClock.now()
                server.unplug(victim)
            }
            server.onActivity = { [self] index, activity in
                guard index == victim, state.seen < ordinal else { return }
                if counts(activity, claimsBefore: state.claims) { state.seen += 1 }
                if activity == .claim { state.claims += 1 }
                guard state.seen == ordinal else { return }
                if delay == .zero { unplug() } else { loop.schedule(after: delay, unplug) }
            }
            var outcome = UnplugOutcome(trial: self)
            guard try program.end(on: loop) else {
                outcome.problems = ["it hangs: \(program.output.suffix(400))"]
                return outcome
            }
            let end = MonotonicClock.now()
            let starved = program.starved + SpawnedProgram.ownStarved - state.starvedBefore
            let code = program.reap()
            // The fake handles closed handles on its loop.
            try loop.run {
                while server.counters(1 - victim).openHandles > 0, MonotonicClock.now() < end + SpawnedProgram.timeout {
                    try await loop.sleep(for: 500)
                }
            }
            if let moment = state.unpluggedAt {
                outcome.wall = end - moment
                outcome.starved = starved
                if outcome.wall > Self.bound + starved + starved + starved {
                    outcome.isLate = true
                    outcome.problems.append(
                        "it ended \(outcome.wall.milliseconds) ms after the unplug, \(starved.milliseconds) ms of which without a processor"
                    )
                }
            } else if state.seen < ordinal {
                outcome.problems.append("the moment never came")
            }
            if server.leftBehind.pending + server.leftBehind.claims != 0 {
                outcome.problems.append("the fake was left with \(server.leftBehind)")
            }
            if server.counters(1 - victim).openHandles + server.counters(1 - victim).pending != 0 {
                outcome.problems.append("the other dongle has \(server.counters(1 - victim))")
            }
            if let slowest = (try? RunReport(folder: report))?.cases.max(by: { $0.durationMs < $1.durationMs }) {
                outcome.slowestCase = "; the longest case was \(slowest.id), \(Int(saturating: slowest.durationMs)) ms, \(slowest.verdict)"
            }
            outcome.problems += RunReport.problems(in: report, cases: cases.count, code: code)
            if !outcome.problems.isEmpty { outcome.problems.append("exit code \(code), it printed: \(program.output.suffix(600))") }
            return outcome
        }
    }
#endif
