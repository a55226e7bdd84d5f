#if os(Linux)
    import BBBenchTesting
    import Foundation
    import BBPackets
    import Testing
    import BBTiming
    import BBTransport
    import BBVirtualDongle

    /// Receives what the fake usbfs answers.
    private final class UsbfsClient: ByteStream.Sink {
        var octets: [UInt8] = []
        var isClosed = false
        private let changed: ConditionVariable

        init(_ changed: ConditionVariable) { self.changed = changed }

        func received(_ octets: UnsafeRawBufferPointer) {
            self.octets.append(contentsOf: octets)
            changed.signal()
        }

        func ended(_ reason: TransportError) {
            isClosed = true
            changed.signal()
        }
    }

    /// Programs with unmodified libusb use virtual dongles through a fake usbfs: `bluebench` in a separate process, the simulation in this
    /// one.
    @Suite(.serialized, .onFakeUSB)
    struct FakeUsbfsTests {
        @Test func donglesAreListedWithWhatTheySay() throws {
            let bus = try FakeUsbfsBus()
            let result = try #require(try bus.run(["devices", "--json", "--probe"]))
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
            let result = try #require(try bus.run(["devices"]))
            #expect(result.output.contains("in use") && result.output.contains("bluebench, process \(holder.pid)"), "\(result.output)")
        }

        @Test func aSelectorThatFitsSeveralDonglesIsRefusedWithTheList() throws {
            let bus = try FakeUsbfsBus()
            let result = try #require(try bus.run(["run", "hci/random-numbers", "--tester", "usb", "--subject", "usb:1-2"]))
            #expect(result.code != 0)
            #expect(result.output.contains("usb:1-1") && result.output.contains("usb:1-2"), "\(result.output)")
        }

        /// Between open and connect of the preload library, a dongle may be unplugged and another one plugged in.
        @Test func aProgramThatConnectsToADongleUnpluggedMeanwhileIsAnswered() throws {
            let bus = try FakeUsbfsBus()
            let (server, loop) = (bus.server, bus.loop)
            let changed = ConditionVariable(on: loop)
            let client = UsbfsClient(changed)
            let socket = "\(bus.folder)/ioctl//dev/bus/usb/001/002"
            let early = try ByteStream.connect(to: .unix(path: socket), on: loop)
            try loop.run {
                for _ in 0..<3 {
                    server.unplug(0)
                    try server.plug(0)
                }
                try early.open(client)
                // An ioctl, USBDEVFS_GET_CAPABILITIES; its end with -1 and ENODEV.
                early.send([1, 0, 0, 0, 0, 0, 0, 0, 0x1A, 0x55, 0x04, 0x80, 0, 0, 0, 0] + [UInt8](repeating: 0, count: 8))
                try await changed.wait(for: "an answer") { client.octets.count >= 24 || client.isClosed }
                let minusOne = [UInt8](repeating: 0xFF, count: 8)
                #expect(client.octets == [3, 0, 0, 0, 0, 0, 0, 0] + minusOne + [UInt8(ENODEV), 0, 0, 0, 0, 0, 0, 0])
            }
        }

        @Test func casesRunOverTwoDongles() throws {
            let bus = try FakeUsbfsBus()
            let cases = [
                "hci/random-numbers", "hci/unsupported-command", "hci/reset-while-advertising", "hci/reset-while-connected[role=central]",
            ]
            let result = try #require(try bus.run(["run"] + cases + ["--tester", "usb:1-1", "--subject", "usb:1209:0001/BB2"]))
            #expect(result.code == 0, "\(result.output)")
            #expect(result.output.components(separatedBy: "PASS ").count == 1 + cases.count, "\(result.output)")
            for index in 0..<2 {
                #expect(bus.server.counters(index).openHandles == 0)
                #expect(bus.server.counters(index).pending == 0)
            }
        }
    }
#endif
