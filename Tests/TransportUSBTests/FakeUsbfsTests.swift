#if os(Linux)
    import Foundation
    import Packets
    import Testing

    /// Programs with unmodified libusb use virtual dongles through a fake usbfs: `bluebench` in a separate process, the simulation in this
    /// one.
    @Suite(.serialized, .onFakeUSB)
    struct FakeUsbfsTests {
        @Test func donglesAreListedWithWhatTheySay() throws {
            let bus = try FakeUsbfsBus()
            let result = try #require(try bus.run(["devices", "--json", "--probe"], within: 20))
            #expect(result.code == 0)
            for text in ["usb:1-1", "usb:1-2", "02:BB:00:00:00:01", "BB2", "5.4"] {
                #expect(result.output.contains(text), "\(result.output)")
            }
            for index in 0..<2 {
                #expect(bus.server.counters(index).openHandles == 0)
                #expect(bus.server.counters(index).pending == 0)
            }
        }

        @Test func aDongleInUseNamesTheProgramThatHoldsIt() throws {
            let bus = try FakeUsbfsBus()
            let holder = try SpawnedProgram(
                ["run", "hci/reset-while-advertising", "--tester", "usb:1-1", "--subject", "usb:1-2"], folder: bus.folder)
            let server = bus.server
            try bus.loop.run { [loop = bus.loop] in
                while server.counters(1).pending < 8, !holder.hasEnded { try await loop.sleep(for: 1_000) }
            }
            let result = try #require(try bus.run(["devices"], within: 20))
            #expect(result.output.contains("in use") && result.output.contains("bluebench, process \(holder.pid)"), "\(result.output)")
        }

        @Test func aSelectorThatFitsSeveralDonglesIsRefusedWithTheList() throws {
            let bus = try FakeUsbfsBus()
            let result = try #require(try bus.run(["run", "hci/random-numbers", "--tester", "usb", "--subject", "usb:1-2"], within: 20))
            #expect(result.code != 0)
            #expect(result.output.contains("usb:1-1") && result.output.contains("usb:1-2"), "\(result.output)")
        }

        @Test func casesRunOverTwoDongles() throws {
            let bus = try FakeUsbfsBus()
            let cases = ["hci/random-numbers", "hci/unsupported-command", "hci/reset-while-advertising", "hci/reset-while-connected"]
            let result = try #require(try bus.run(["run"] + cases + ["--tester", "usb:1-1", "--subject", "usb:1209:0001/BB2"], within: 60))
            #expect(result.code == 0, "\(result.output)")
            #expect(result.output.components(separatedBy: "PASS ").count == 1 + cases.count, "\(result.output)")
            for index in 0..<2 {
                #expect(bus.server.counters(index).openHandles == 0)
                #expect(bus.server.counters(index).pending == 0)
            }
        }
    }
#endif
