#if os(Linux)
    import Foundation
    import BBTiming
    import BBVirtualDongle
    import Testing

    /// Bulk Serialization mode over libusb on a fake usbfs. Core Vol 4, Part B, 7.
    @Suite(.serialized, .onFakeUSB)
    struct SerialisedOverUSBTests {
        private static let serialised = ["--usb-mode", "serialised"]

        struct Start: Sendable, CustomTestStringConvertible {
            var quirks: [String]
            var options = SerialisedOverUSBTests.serialised
            /// A part of the reason why the host does not start; nil if it starts.
            var impediment: String?
            var mode: String?
            var learned: Set<String> = []
            /// Number of changes of the mode.
            var switches = 2
            var testDescription: String { "\(quirks) \(options)" }
        }

        private static let started = "Bulk Serialization mode (--usb-mode)"
        private static let mute = "does not answer HCI_Reset, not even after a reset of its port; it was in Bulk Serialization mode"

        static let starts: [Start] = [
            Start(quirks: ["serialised-mode"], mode: started),
            Start(quirks: ["serialised-mode"], options: [], mode: "legacy mode (the host needs no ISO data)", switches: 0),
            Start(quirks: ["serialised-mode"], options: ["--usb-mode", "legacy"], mode: "legacy mode (--usb-mode)", switches: 0),
            Start(quirks: ["usb-release=2"], options: [], switches: 0),
            Start(quirks: ["usb-release=2"], impediment: "it has no Bulk Serialization mode", switches: 0),
            Start(quirks: ["serialised-mode", "high-speed"], mode: started),
            Start(quirks: ["serialised-mode", "composite", "hci-interface=2"], mode: started),
            Start(quirks: ["serialised-mode", "other-endpoints=4", "event-packet-size=64"], mode: started),
            Start(quirks: ["serialised-mode", "no-voice-interface"], mode: started),
            Start(quirks: ["serialised-mode", "zero-length-packets"], mode: started),
            Start(quirks: ["serialised-mode", "joined-data"], mode: started),
            Start(quirks: ["serialised-mode", "cuts-data=64"], mode: started, learned: ["split-packets"]),
            Start(quirks: ["serialised-mode", "reenumerates-on-reset"], mode: started, learned: ["re-enumerated"]),
            Start(quirks: ["serialised-mode", "serialised-refused"], impediment: "it refuses the Bulk Serialization mode", switches: 0),
            // The mode ends with the reset of the port, and is selected again.
            Start(quirks: ["serialised-mode", "port-reset-needed"], mode: started, learned: ["deaf-at-start"], switches: 4),
            Start(
                quirks: ["serialised-mode", "port-reset-needed", "serialised-until-reset"],
                impediment: "it refuses the Bulk Serialization mode that its descriptors offer: setting 1 of its HCI interface", switches: 2
            ),
            Start(quirks: ["serialised-mode", "serialised-dead"], impediment: mute, switches: 4),
            Start(quirks: ["serialised-mode", "interrupt-events"], impediment: mute, switches: 4),
            Start(quirks: ["serialised-mode", "indicator=missing"], impediment: mute, switches: 4),
            Start(quirks: ["serialised-mode", "indicator=wrong"], impediment: mute, switches: 4),
            Start(quirks: ["serialised-mode", "indicator=doubled"], impediment: mute, switches: 4),
        ]

        /// A start ends with the dongle in the legacy mode, whatever it does.
        @Test func aDongleStartsInItsModeAndIsLeftInTheLegacyMode() throws {
            // Only dongles that never answer are given up early.
            let groups = Dictionary(grouping: Self.starts) { row in [row.impediment == Self.mute ? "0.2" : "1"] + row.options }
            for (key, rows) in groups.sorted(by: { $0.key.lexicographicallyPrecedes($1.key) }) {
                let bus = try QuirkBus(rows.map { try DongleConduct($0.quirks) })
                let outcomes = try #require(try bus.start(timeout: Double(key[0]) ?? 1, Array(key.dropFirst())), "it hangs")
                for (index, (row, outcome)) in zip(rows, outcomes).enumerated() {
                    #expect(
                        row.impediment.map { outcome.impediment?.contains($0) == true } ?? (outcome.impediment == nil),
                        "\(row.testDescription): \(outcome)")
                    #expect(outcome.trouble == nil && outcome.isClean, "\(row.testDescription): \(outcome)")
                    if row.impediment == nil { #expect(outcome.usbMode == row.mode, "\(row.testDescription)") }
                    #expect(row.learned.isSubset(of: outcome.learned.keys), "\(row.testDescription): \(outcome)")
                    #expect(!bus.server.isSerialised(index))
                    #expect(bus.server.modeSwitches(index) == row.switches, "\(row.testDescription)")
                }
                #expect(bus.server.leftBehind.pending + bus.server.leftBehind.claims == 0)
            }
        }

        /// Figures of `bluebench loopback --json`: all packets come back, each once, unchanged and in order.
        private func loop(_ bus: FakeUsbfsBus, packets: Int, _ options: [String]) throws -> LoopbackTests.Figures {
            let file = bus.folder + ".json"
            defer { try? FileManager.default.removeItem(atPath: file) }
            let result = try #require(try bus.run(["loopback", "usb:1-1", "--packets", "\(packets)", "--json", file] + options))
            try #require(result.code == 0, "\(result.output)")
            let figures = try JSONDecoder().decode(LoopbackTests.Figures.self, from: Data(contentsOf: URL(fileURLWithPath: file)))
            #expect(figures.sent == packets && figures.returned == packets)
            #expect([figures.lost, figures.duplicated, figures.reordered, figures.corrupted, figures.overflows].allSatisfy { $0 == 0 })
            #expect(bus.server.counters(0).openHandles == 0 && bus.server.counters(0).pending == 0 && !bus.server.isSerialised(0))
            return figures
        }

        /// Lengths at which a transfer with its indicator ends with a full USB packet, and their neighbours.
        @Test(arguments: [(8, []), (58, []), (59, []), (60, []), (123, []), (187, ["zero-length-packets"]), (251, ["high-speed"])])
        func packetsOfAnyLengthComeBack(octets: Int, quirks: [String]) throws {
            let bus = try FakeUsbfsBus(conduct: DongleConduct(["serialised-mode"] + quirks))
            let figures = try loop(bus, packets: 200, ["--octets", "\(octets)"] + Self.serialised)
            #expect(figures.octets == octets && bus.server.traffic(0).dataIn == 200)
        }

        /// The mode changes every two milliseconds, with commands, events and data under way.
        @Test func noPacketIsLostAtASwitch() throws {
            let bus = try FakeUsbfsBus(conduct: DongleConduct(["serialised-mode"]))
            _ = try loop(bus, packets: TaggedRun.soaks ? 1_000_000 : 3_000, ["--switch-every", "2", "--timeout", "120"])
            #expect(bus.server.modeSwitches(0) >= (TaggedRun.soaks ? 1_000 : 20), "\(bus.server.modeSwitches(0))")
        }

        /// Voice uses the bulk endpoints; the voice interface stays in setting 0.
        @Test func voiceIsOnTheBulkPipe() throws {
            let bus = try FakeUsbfsBus(conduct: DongleConduct(["serialised-mode"]), configure: { $0.profile = .dual })
            let words = ["run", "bredr-lmp/esco-voice", "--tester", "usb:1-1", "--subject", "usb:1-2", "--slack", "500"]
            let result = try #require(try bus.run(words + Self.serialised))
            #expect(result.code == 0 && result.output.contains("2 PASS"), "\(result.output)")
            for dongle in 0..<2 {
                let traffic = bus.server.traffic(dongle)
                #expect(
                    traffic.voiceAlternates.isEmpty && traffic.voiceIn > 40 && traffic.voiceOut > 40, "\(bus.server.account(of: dongle))")
            }
        }

        @Test func aKilledProgramLeavesTheLegacyMode() throws {
            let bus = try FakeUsbfsBus(conduct: DongleConduct(["serialised-mode"]))
            let program = try SpawnedProgram(
                ["capture", "usb:1-1", "--write", bus.folder + ".pcapng"] + Self.serialised, folder: bus.folder)
            defer { try? FileManager.default.removeItem(atPath: bus.folder + ".pcapng") }
            try bus.loop.run { [loop = bus.loop] in
                for _ in 0..<2_000 where !bus.server.isSerialised(0) { try await loop.sleep(for: .milliseconds(5)) }
            }
            #expect(bus.server.isSerialised(0))
            kill(program.pid, SIGKILL)
            program.reap()
            try bus.loop.run { [loop = bus.loop] in
                for _ in 0..<400 where bus.server.isSerialised(0) { try await loop.sleep(for: .milliseconds(5)) }
            }
            #expect(!bus.server.isSerialised(0) && bus.server.counters(0).openHandles == 0)
        }

        struct Judged: Sendable, CustomTestStringConvertible {
            var quirks: [String]
            var cases: [String]
            /// Cases that fail, and those that say nothing about the dongle.
            var failures: Set<String> = []
            var inconclusive: Set<String> = []
            var testDescription: String { "\(quirks)" }
        }

        /// The suite about the USB side, over libusb: a legal dongle passes, and one with a defect fails the case about it. The whole suite with
        /// SOAK=1.
        @Test(arguments: [
            Judged(
                quirks: ["serialised-mode", "composite", "hci-interface=2", "zero-length-packets"],
                cases: ["composite-recipients", "switch-refused-in-voice", "pending-at-switch[from=legacy]"]),
            Judged(
                quirks: ["serialised-mode", "stall-missing=command", "switch-packets=doubled"],
                cases: ["command-refused", "pending-at-switch[from=legacy]"],
                failures: ["usb-transport/command-refused", "usb-transport/pending-at-switch[from=legacy]"]),
            Judged(
                quirks: ["serialised-mode", "refuses-without-stall=silent", "switch-packets=events-lost"],
                cases: ["switch-refused-in-voice", "pending-at-switch[from=serialised]", "event-sizes[size=around16]"],
                failures: ["usb-transport/switch-refused-in-voice", "usb-transport/pending-at-switch[from=serialised]"]),
            Judged(
                quirks: ["serialised-mode", "refuses-without-stall=error", "open-transfers"],
                cases: ["command-refused", "data-sizes[mode=serialised,size=around64]"],
                inconclusive: ["usb-transport/command-refused"]),
        ])
        func theSuiteJudgesTheUSBSide(row: Judged) async throws {
            let cases = TaggedRun.soaks && row.failures.isEmpty ? ["usb-transport"] : row.cases.map { "usb-transport/" + $0 }
            let found = try await TaggedRun.named(cases, conduct: DongleConduct(row.quirks))
            let texts = found.map { "\($0.id) \($0.verdict) \($0.message)" }
            #expect(Set(found.filter { $0.verdict == "FAIL" }.map(\.id)) == row.failures, "\(texts)")
            #expect(Set(found.filter { $0.verdict == "INCONC" }.map(\.id)) == row.inconclusive, "\(texts)")
            #expect(
                found.count { $0.verdict == "PASS" } == found.count - row.failures.count - row.inconclusive.count, "\(texts)")
        }

        /// Cases with the tag `usb` in the serialised mode. A sample of the cases; all of them with SOAK=1.
        @Test func theVerdictsAreThoseInProcess() async throws {
            let expected = try TaggedRun.sample(of: 24, seed: 9)
            let found = try await TaggedRun.overUSB(expected, conduct: DongleConduct(["serialised-mode"]), options: Self.serialised)
            TaggedRun.compare(found, with: expected, atLeast: 14)
        }
    }
#endif
