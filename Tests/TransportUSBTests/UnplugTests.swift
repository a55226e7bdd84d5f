#if os(Linux)
    import Foundation
    import BBPackets
    import Testing
    import BBTiming

    /// Dongles are unplugged from running programs, in every phase, at seeded times.
    @Suite(.serialized, .onFakeUSB)
    struct UnplugTests {
        /// 50 in every test run; more with `make soak`.
        static let count = ProcessInfo.processInfo.environment["BLUEBENCH_UNPLUGS"].flatMap { UInt64($0) } ?? 50

        /// Number of the first trial.
        static let first = ProcessInfo.processInfo.environment["BLUEBENCH_FIRST_UNPLUG"].flatMap { UInt64($0) } ?? 0

        @Test func anUnplugAtAnyMomentEndsTheRunWithAReport() async throws {
            let outcomes = await Self.run((Self.first..<Self.first + Self.count).map { UnplugTrial(seed: $0) }, lanes: 3)
            #expect(outcomes.count == Int(Self.count))
            for outcome in outcomes where !outcome.problems.isEmpty {
                Issue.record("\(outcome.trial): \(outcome.problems.joined(separator: "; "))")
            }
            let longest = outcomes.sorted { $0.wall - $0.starved > $1.wall - $1.starved }
            print("unplugs: \(outcomes.count), from the unplug to the end of the process (waiting for a processor), the longest:")
            for outcome in longest.prefix(3) {
                print("    \(outcome.wall.milliseconds) ms (\(outcome.starved.milliseconds) ms), \(outcome.trial)\(outcome.slowestCase)")
            }
        }

        /// The departure becomes known between the claim of the last interface and the choice of its setting.
        @Test(arguments: [0, 1]) func anUnplugBehindAClaimEndsTheRunWithAReport(_ victim: Int) throws {
            let bus = try FakeUsbfsBus()
            let (server, loop, report) = (bus.server, bus.loop, bus.folder + ".report")
            defer { try? FileManager.default.removeItem(atPath: report) }
            server.claimDelay = .milliseconds(100)
            var claims = 0
            server.onActivity = { index, activity in
                guard index == victim, activity == .claim else { return }
                claims += 1
                guard claims == 2 else { return }
                server.announceDeparture(victim)
                loop.schedule(after: .milliseconds(200)) { server.unplug(victim) }
            }
            let program = try SpawnedProgram(
                ["run"] + UnplugTrial.quick + ["--tester", "usb:1-1", "--subject", "usb:1-2", "--report", report], folder: bus.folder)
            try #require(try program.end(on: loop), "it hangs")
            let problems = RunReport.problems(in: report, cases: UnplugTrial.quick.count, code: program.reap())
            #expect(problems.isEmpty && claims == 2, "\(problems) \(program.output)")
        }

        /// Runs trials concurrently, each lane on a thread, since a loop belongs to one.
        private static func run(_ trials: [UnplugTrial], lanes: Int) async -> [UnplugOutcome] {
            await withTaskGroup(of: [UnplugOutcome].self) { group in
                for lane in 0..<lanes {
                    let own = trials.enumerated().filter { $0.offset % lanes == lane }.map(\.element)
                    group.addTask {
                        await withCheckedContinuation { continuation in
                            Thread.detachNewThread { continuation.resume(returning: own.map(Self.outcome)) }
                        }
                    }
                }
                return await group.reduce(into: []) { $0 += $1 }
            }
        }

        private static func outcome(of trial: UnplugTrial) -> UnplugOutcome {
            do {
                let first = try trial.run()
                return first.isLate ? try trial.run() : first
            } catch { return UnplugOutcome(trial: trial, problems: ["\(error)"]) }
        }
    }
#endif
