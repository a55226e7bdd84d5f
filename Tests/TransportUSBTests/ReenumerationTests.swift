#if os(Linux)
    import Foundation
    import Testing
    import BBTiming
    import BBVirtualDongle

    /// Dongles that leave the bus on reset and return to the same port, as seen by the program through libusb on the fake usbfs.
    @Suite(.serialized, .onFakeUSB)
    struct ReenumerationTests {
        struct Trial: Sendable, CustomStringConvertible {
            var description: String
            /// Commands after which it leaves, by number; the first is the HCI_Reset of the start.
            var leavesAfter: Set<Int>
            var returns = true
            var code: Int32
        }

        static let trials = [
            Trial(description: "at the first HCI_Reset", leavesAfter: [1], code: 0),
            Trial(description: "at the first two", leavesAfter: [1, 2], code: 0),
            Trial(description: "for good", leavesAfter: [1], returns: false, code: 3),
        ]

        @Test(arguments: trials)
        func itIsFoundAgainInItsPort(trial: Trial) throws {
            let bus = try FakeUsbfsBus()
            let (server, loop) = (bus.server, bus.loop)
            let folder = bus.folder + ".report"
            defer { try? FileManager.default.removeItem(atPath: folder) }
            var (claims, commands) = (0, 0)
            server.onActivity = { index, activity in
                guard index == 0 else { return }
                if activity == .claim { claims += 1 }
                guard claims >= 2, activity == .submit(endpoint: 0) else { return }
                commands += 1
                guard trial.leavesAfter.contains(commands) else { return }
                server.unplug(0)
                guard trial.returns else { return }
                loop.schedule(after: .milliseconds(150)) { try? server.plug(0) }
            }
            let arguments = ["run", "hci/encrypt", "--tester", "usb:1-1", "--subject", "usb:1-2", "--report", folder]
            let result = try #require(try bus.run(arguments))
            let report = try RunReport(folder: folder)
            #expect(result.code == trial.code, "\(result.output)")
            #expect(report.verdicts == [trial.code == 0 ? "PASS" : "INCONC"], "\(result.output)")
            #expect(report.leaks == 0)
            #expect(server.leftBehind.pending + server.leftBehind.claims == 0)
        }
    }
#endif
