#if os(Linux)
    import Foundation
    import BBTiming
    import BBVirtualDongle
    import Testing

    /// Dongles that leave the bus in each mode and during requests below the packets, over libusb on a fake usbfs.
    @Suite(.serialized, .onFakeUSB)
    struct DepartureInModeTests {
        private static let cases = ["usb-transport/serialised-mode", "gap-conn/data-both-ways", "usb-transport/switch-in-connection"]

        /// A run in which the subject leaves at the first moment for which `isMoment` holds, and comes back after some time if `returns`.
        private func run(
            _ words: [String], _ quirks: [String] = [], returns: Bool = false,
            at isMoment: @escaping (UsbfsServer, UsbfsServer.Activity) -> Bool
        ) throws -> (code: Int32, output: String, report: RunReport, server: UsbfsServer) {
            let bus = try FakeUsbfsBus(conduct: DongleConduct(["serialised-mode"]), subject: DongleConduct(["serialised-mode"] + quirks))
            let (server, loop, folder) = (bus.server, bus.loop, bus.folder + ".report")
            defer {
                server.onActivity = nil
                try? FileManager.default.removeItem(atPath: folder)
            }
            var hasLeft = false
            server.onActivity = { [unowned server] index, activity in
                guard index == 1, !hasLeft, isMoment(server, activity) else { return }
                hasLeft = true
                loop.schedule(after: returns ? .zero : .milliseconds(5)) { server.unplug(1) }
                if returns { loop.schedule(after: .milliseconds(150)) { try? server.plug(1) } }
            }
            let words = ["run"] + words + ["--tester", "usb:1-1", "--subject", "usb:1-2", "--slack", "1000", "--report", folder]
            let result = try #require(try bus.run(words), "it hangs")
            #expect(hasLeft, "\(result.output)")
            return (result.code, result.output, try RunReport(folder: folder), server)
        }

        /// A request that the dongle leaves open, a switch and held reads end with it: the case says nothing about it.
        @Test(arguments: [
            ("command-refused", ["refuses-without-stall=silent"], UsbfsServer.Activity.submit(endpoint: 0)),
            ("serialised-mode", [], .submit(endpoint: 2)), ("pending-at-switch[from=serialised]", [], .discard),
        ])
        func aRequestUnderWayEndsWithTheDongle(testCase: String, quirks: [String], activity: UsbfsServer.Activity) throws {
            let result = try run(["usb-transport/" + testCase], quirks) { server, now in server.isSerialised(1) && now == activity }
            #expect(result.code == 3 && result.report.verdicts == ["INCONC"], "\(result.output)")
            #expect(result.report.leaks == 0 && result.server.leftBehind.pending + result.server.leftBehind.claims == 0)
        }

        /// After its return a dongle is in the mode of the run again, and the cases pass.
        @Test(arguments: ["legacy", "serialised"])
        func aDongleReturnsInItsMode(mode: String) throws {
            let isSerialised = mode == "serialised"
            let words = Self.cases + ["--usb-mode", mode, "--wait-for-replug", "20"]
            let result = try run(words, returns: true) { server, activity in
                // Between packets of data: after HCI_Reset it would be taken for one that re-enumerates.
                activity == .submit(endpoint: 2) && server.isSerialised(1) == isSerialised && server.traffic(1).dataOut >= 2
            }
            #expect(result.code == 0 && result.report.verdicts == ["PASS", "PASS", "PASS", "PASS"], "\(result.output)")
            let device = try #require(result.report.device("subject"))
            #expect(device.losses.count == 1 && result.report.leaks == 0, "\(device)")
            #expect(result.server.modeSwitches(1) >= (isSerialised ? 4 : 6) && !result.server.isSerialised(1))
        }
    }
#endif
