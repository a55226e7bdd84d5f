#if os(Linux)
    import Foundation
    import BBMisbehaviour
    import Testing
    import BBTiming
    import BBVirtualDongle

    /// Dongles left in some state by another program, and halting endpoints, as seen by the program through libusb on the fake usbfs.
    @Suite(.serialized, .onFakeUSB)
    struct StaleDongleTests {
        struct Expected: Sendable {
            var startup: String?
            var discarded = 0
            var clearedHalts = 0...0
            var losses = 0
            /// Text that the program prints.
            var text: String?
            var code: Int32 = 0
        }

        struct Trial: Sendable, CustomStringConvertible {
            var description: String
            var quirks: [String] = []
            var halt: USBConduct.Halt?
            var expected: Expected
            var cases = ["hci/encrypt"]
            var options: [String] = []
        }

        private static let atOnce = "answered at once"
        private static let second = "answered to the second HCI_Reset"
        private static let port = "answered after a reset of the USB port"
        private static let withData = ["gap-conn/data-both-ways"]
        private static let serialised = ["--usb-mode", "serialised"]

        private static func halt(_ endpoint: UInt8, after: Int, times: Int = 1, survives: Bool = false) -> USBConduct.Halt {
            USBConduct.Halt(endpoint: endpoint, Occurrences(skip: after, count: times), survivesPortReset: survives)
        }

        static let trials: [Trial] = [
            Trial(description: "old packets", quirks: ["stale-data"], expected: Expected(startup: atOnce, discarded: 3)),
            Trial(description: "deaf once", quirks: ["first-reset-unanswered"], expected: Expected(startup: second)),
            Trial(description: "deaf until its port is reset", quirks: ["first-reset-unanswered=9"], expected: Expected(startup: port)),
            Trial(
                description: "mute for good", quirks: ["event-size-hole=3"],
                expected: Expected(text: "usb:1-1: it does not answer HCI_Reset, not even after a reset of its port", code: 3)),
            Trial(
                description: "events halt until the port is reset", halt: halt(0x81, after: 0, times: 99),
                expected: Expected(startup: port, clearedHalts: 3...3)),
            Trial(
                description: "events halt for good", halt: halt(0x81, after: 0, times: 99, survives: true),
                expected: Expected(text: "endpoint 0x81 halts again whenever it is cleared; not even a reset of its port helps", code: 3)),
            Trial(description: "events halt once", halt: halt(0x81, after: 16), expected: Expected(startup: atOnce, clearedHalts: 1...1)),
            Trial(
                description: "data in halt twice", halt: halt(0x82, after: 9, times: 2),
                expected: Expected(startup: atOnce, clearedHalts: 2...2), cases: withData),
            Trial(
                description: "data out halt once", halt: halt(0x02, after: 3), expected: Expected(startup: atOnce, clearedHalts: 1...1),
                cases: withData),
            Trial(
                description: "events halt again and again", halt: halt(0x81, after: 24, times: 99),
                expected: Expected(
                    startup: atOnce, clearedHalts: 3...24, losses: 1,
                    text: "endpoint 0x81 halts again whenever it is cleared; its port was reset", code: 3), cases: UnplugTrial.quick),
            Trial(
                description: "events halt until the pipe is opened again", halt: halt(0x81, after: 24, times: 99),
                expected: Expected(startup: atOnce, clearedHalts: 3...24, losses: 1, text: "is back after"),
                cases: UnplugTrial.quick,
                options: ["--wait-for-replug", "20"]),
            Trial(
                description: "the serialised pipe in halts twice", quirks: ["serialised-mode"], halt: halt(0x82, after: 24, times: 2),
                expected: Expected(startup: atOnce, clearedHalts: 2...2), cases: withData, options: serialised),
            Trial(
                description: "the serialised pipe out halts once", quirks: ["serialised-mode"], halt: halt(0x02, after: 12),
                expected: Expected(startup: atOnce, clearedHalts: 1...1), cases: withData, options: serialised),
            Trial(
                description: "the serialised pipe halts until the port is reset", quirks: ["serialised-mode"],
                halt: halt(0x82, after: 0, times: 99), expected: Expected(startup: port, clearedHalts: 3...3), options: serialised),
            Trial(
                description: "the serialised pipe halts for good", quirks: ["serialised-mode"],
                halt: halt(0x82, after: 0, times: 99, survives: true),
                expected: Expected(text: "endpoint 0x82 halts again whenever it is cleared; not even a reset of its port helps", code: 3),
                options: serialised),
        ]

        @Test(arguments: trials)
        func theReportSaysWhatBroughtTheDongleToAnswer(trial: Trial) throws {
            let bus = try FakeUsbfsBus(
                conduct: DongleConduct(trial.quirks), subject: DongleConduct(trial.quirks.filter { $0 == "serialised-mode" }),
                halt: trial.halt)
            let folder = bus.folder + ".report"
            defer { try? FileManager.default.removeItem(atPath: folder) }
            let arguments =
                ["run"] + trial.cases + ["--tester", "usb:1-1", "--subject", "usb:1-2", "--report", folder, "--usb-timeout", "0.25"]
                + trial.options
            let result = try #require(try bus.run(arguments))
            let report = try RunReport(folder: folder)
            let expected = trial.expected
            #expect(result.code == expected.code, "\(result.output)")
            if let text = expected.text { #expect(result.output.contains(text), "\(result.output)") }
            #expect(report.verdicts.last == (expected.code == 0 ? "PASS" : "INCONC"), "\(result.output)")
            #expect(report.verdicts.allSatisfy { $0 == "PASS" || $0 == "INCONC" && expected.code == 3 }, "\(result.output)")
            if let startup = expected.startup {
                let device = try #require(report.device("tester"))
                #expect(device.startup == startup)
                #expect(device.discarded >= expected.discarded)
                #expect(expected.clearedHalts.contains(device.clearedHalts), "\(device)")
                #expect(device.losses.count == expected.losses, "\(device)")
                #expect(result.output.contains(startup), "\(result.output)")
            }
            #expect(report.leaks == 0)
            #expect(bus.server.leftBehind.pending + bus.server.leftBehind.claims == 0 && !bus.server.isSerialised(0))
        }
    }
#endif
