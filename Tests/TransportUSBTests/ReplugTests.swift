#if os(Linux)
    import Foundation
    import BBPackets
    import Testing
    import BBTiming
    import BBTransport
    import BBVirtualDongle

    @testable import BBTransportUSB

    /// One run with `--wait-for-replug`, and the actions on a dongle meanwhile.
    struct ReplugTrial: Sendable, CustomStringConvertible {
        /// One action at the port.
        enum Move: Sendable {
            case unplug
            case plug
            case plugAnother(serial: String)
        }

        var description: String
        var victim: Int
        /// Number of requests of the cases after which the actions start.
        var ordinal: Int
        /// Actions, each with the time since the previous one.
        var moves: [(after: Microseconds, move: Move)]
        var timeOut = 20
        var cases = UnplugTrial.quick

        /// True if the dongle has responded by then, so that the report contains its loss.
        var isStarted: Bool { ordinal >= 60 }

        /// Unplugged and replugged once at a seeded time; every third time during the start of the dongle.
        static func once(seed: UInt64) -> ReplugTrial {
            var random = RandomSource(seed: seed, label: "replug")
            let away = Microseconds(Int64.random(in: 0...400_000, using: &random))
            return ReplugTrial(
                description: "once, seed \(seed)", victim: Int.random(in: 0...1, using: &random),
                ordinal: seed % 3 == 0 ? Int.random(in: 1...18, using: &random) : Int.random(in: 60...150, using: &random),
                moves: [(.zero, .unplug), (away, .plug)])
        }

        /// Unplugged and replugged several times, faster than the dongle can be started.
        static func rapid(seed: UInt64) -> ReplugTrial {
            var trial = once(seed: seed)
            var random = RandomSource(seed: seed, label: "rapid replug")
            trial.description = "rapid, seed \(seed)"
            for _ in 0..<5 {
                trial.moves.append((Microseconds(Int64.random(in: 0...25_000, using: &random)), .unplug))
                trial.moves.append((Microseconds(Int64.random(in: 0...25_000, using: &random)), .plug))
            }
            return trial
        }

        struct Outcome: Sendable {
            var code: Int32
            var output: String
            var report: RunReport?
            /// Handles, requests and claims left in the fake usbfs.
            var leftBehind: Int
            var isHung = false
        }

        private final class State {
            var claims = 0
            var seen = 0
        }

        /// - Parameter waiting: called on the loop once the program reports that it waits.
        func run(waiting: ((SpawnedProgram) -> Void)? = nil) throws -> Outcome {
            let bus = try FakeUsbfsBus()
            let report = bus.folder + ".report"
            defer { try? FileManager.default.removeItem(atPath: report) }
            let program = try SpawnedProgram(
                ["run"] + cases + [
                    "--tester", "usb:1-1", "--subject", "usb:1-2", "--report", report, "--wait-for-replug", "\(timeOut)",
                ], folder: bus.folder)
            let state = State()
            let (server, loop, victim, moves) = (bus.server, bus.loop, victim, moves)
            server.onActivity = { [ordinal] index, activity in
                guard index == victim, state.seen < ordinal else { return }
                if state.claims >= 2, case .submit = activity { state.seen += 1 }
                if activity == .claim { state.claims += 1 }
                guard state.seen == ordinal else { return }
                var time = loop.now
                for (after, move) in moves {
                    time = time + after
                    loop.schedule(at: time) { Self.make(move, on: server, victim) }
                }
            }
            let hasEnded = try loop.run {
                let deadline = loop.now + SpawnedProgram.timeout
                var mustTell = waiting != nil
                while !program.hasEnded, loop.now < deadline {
                    try await loop.sleep(for: 1_000)
                    if mustTell, program.output.contains("waiting for") {
                        mustTell = false
                        waiting?(program)
                    }
                }
                let ended = program.hasEnded
                while ended, (0...1).contains(where: { server.counters($0).openHandles > 0 }), loop.now < deadline {
                    try await loop.sleep(for: 500)
                }
                return ended
            }
            let left = (0...1).reduce(server.leftBehind.pending + server.leftBehind.claims) {
                $0 + server.counters($1).openHandles + server.counters($1).pending
            }
            return Outcome(
                code: hasEnded ? program.reap() : 0, output: program.output, report: try? RunReport(folder: report), leftBehind: left,
                isHung: !hasEnded)
        }

        private static func make(_ move: Move, on server: UsbfsServer, _ victim: Int) {
            do {
                switch move {
                case .unplug: server.unplug(victim)
                case .plug: try server.plug(victim, serialNumber: "BB\(victim + 1)")
                case .plugAnother(let serial): try server.plug(victim, serialNumber: serial)
                }
            } catch {
                Issue.record("\(error)")
            }
        }
    }

    @Suite(.serialized, .onFakeUSB)
    struct ReplugTests {
        private func expectAllPassed(_ outcome: ReplugTrial.Outcome, _ trial: ReplugTrial) throws {
            let report = try #require(outcome.report, "\(trial): \(outcome.output)")
            #expect(report.verdicts == trial.cases.map { _ in "PASS" }, "\(trial): \(outcome.output)")
            #expect(outcome.code == 0, "\(trial)")
            let device = try #require(report.device(trial.victim == 0 ? "tester" : "subject"))
            #expect(
                device.losses.isEmpty != trial.isStarted && device.losses.allSatisfy { $0.awayMs != nil && $0.startup != nil },
                "\(trial): \(device)")
            #expect(report.leaks == 0 && outcome.leftBehind == 0, "\(trial): \(report.leaks), \(outcome.leftBehind)")
            #expect(!trial.isStarted || report.cases.contains { $0.notes?.contains { $0.contains("was lost") } ?? false }, "\(trial)")
            #expect(outcome.output.contains("is back after"), "\(trial): \(outcome.output)")
        }

        @Test(arguments: (0..<6).map { ReplugTrial.once(seed: $0) } + (0..<4).map { ReplugTrial.rapid(seed: $0) })
        func aRunWaitsForTheDongleAndGoesOnAfresh(trial: ReplugTrial) throws { try expectAllPassed(try trial.run(), trial) }

        @Test func whenTheDongleDoesNotComeBackTheRestHasNoVerdict() throws {
            var trial = ReplugTrial(description: "gone", victim: 1, ordinal: 60, moves: [(.zero, .unplug)])
            trial.timeOut = 1
            let outcome = try trial.run()
            let report = try #require(outcome.report, "\(outcome.output)")
            #expect(outcome.code == 3)
            #expect(report.cases.count == trial.cases.count)
            #expect(report.cases.last?.message.contains("it did not come back within 1 s") ?? false, "\(outcome.output)")
            #expect(outcome.output.contains("waiting for the subject usb:1-2") && outcome.output.contains("1 s left"), "\(outcome.output)")
            #expect(report.leaks == 0 && outcome.leftBehind == 0)
        }

        @Test func anotherDongleInTheSamePortIsNotTheOneThatWasLost() throws {
            let moves: [(Microseconds, ReplugTrial.Move)] = [(.zero, .unplug), (50_000, .plugAnother(serial: "BB9"))]
            var trial = ReplugTrial(description: "a stranger", victim: 1, ordinal: 60, moves: moves)
            trial.timeOut = 1
            let outcome = try trial.run()
            #expect(outcome.code == 3)
            let message = outcome.report?.cases.last?.message ?? ""
            #expect(message.contains("only another dongle came, BB9, within 1 s"), "\(outcome.output)")

            let again = moves + [(300_000, .unplug), (50_000, .plug)]
            let returning = ReplugTrial(description: "a stranger, then the dongle", victim: 1, ordinal: 60, moves: again)
            try expectAllPassed(try returning.run(), returning)
        }

        @Test func ctrlCEndsTheWaitWithAReport() throws {
            let trial = ReplugTrial(description: "interrupted", victim: 0, ordinal: 40, moves: [(.zero, .unplug)], timeOut: 80)
            let outcome = try trial.run { $0.interrupt() }
            let report = try #require(outcome.report, "\(outcome.output)")
            #expect(!outcome.isHung && outcome.code == 3)
            #expect(report.run.interrupted && report.cases.count == trial.cases.count)
            #expect(report.cases.contains { $0.message.contains("the run was stopped while it waited") }, "\(outcome.output)")
            #expect(report.leaks == 0 && outcome.leftBehind == 0)
        }

        @Test func aDongleThatIsNotThereYetIsWaitedFor() throws {
            let bus = try FakeUsbfsBus()
            let server = bus.server
            server.unplug(1)
            let result = try #require(
                try bus.run(
                    ["run", "hci/encrypt", "--tester", "usb:1-1", "--subject", "usb:1-2", "--wait-for-replug", "600"],
                    once: "waiting for the subject usb:1-2", meanwhile: { try? server.plug(1) }))
            #expect(result.code == 0, "\(result.output)")
            #expect(result.output.contains("waiting for the subject usb:1-2"), "\(result.output)")
        }

        // MARK: Identity of the dongle

        private static func dongle(_ port: Int, _ product: UInt16, _ serial: String?) -> USBDongleDescription {
            var dongle = USBDongleDescription(bus: 1, ports: [port], vendor: 0x1209, product: product)
            dongle.serial = serial
            return dongle
        }

        private static func at(_ port: Int) -> USBSelector { .location(bus: 1, ports: [port]) }

        private struct Sighting: Sendable {
            var selector: USBSelector
            var lost: USBDongleDescription
            var found: [USBDongleDescription]
            var sight: USBDeviceIdentity.Sight
        }

        private static let sightings: [Sighting] = {
            let id = USBSelector.identity(vendor: 0x1209, product: 1, serial: nil)
            let exact = USBSelector.identity(vendor: 0x1209, product: 1, serial: "A")
            let (a, b) = (dongle(1, 1, "A"), dongle(1, 1, "B"))
            return [
                Sighting(selector: at(1), lost: a, found: [], sight: .absent),
                Sighting(selector: at(1), lost: a, found: [a], sight: .here(at(1))),
                Sighting(selector: at(1), lost: a, found: [b], sight: .stranger(b)),
                Sighting(selector: at(1), lost: a, found: [dongle(1, 2, "A")], sight: .stranger(dongle(1, 2, "A"))),
                Sighting(selector: at(1), lost: dongle(1, 1, nil), found: [b], sight: .here(at(1))),
                Sighting(selector: id, lost: a, found: [dongle(4, 1, "B"), dongle(3, 1, "A")], sight: .here(exact)),
                Sighting(selector: exact, lost: a, found: [dongle(3, 1, "A")], sight: .here(exact)),
                Sighting(selector: id, lost: a, found: [dongle(3, 1, "B")], sight: .absent),
                Sighting(selector: .only, lost: a, found: [dongle(3, 1, "A")], sight: .here(at(3))),
                Sighting(selector: .only, lost: dongle(1, 1, nil), found: [dongle(1, 1, nil)], sight: .here(at(1))),
            ]
        }()

        @Test func theSameDongleIsToldByItsPortOrItsSerialNumber() {
            for sighting in Self.sightings {
                let identity = USBDeviceIdentity(sighting.selector, sighting.lost)
                #expect(identity.sight(of: sighting.found) == sighting.sight, "\(sighting)")
            }
        }
    }
#endif
