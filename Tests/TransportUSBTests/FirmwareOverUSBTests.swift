#if os(Linux)
    import Foundation
    import Testing
    import BBTiming
    import BBVirtualDongle

    /// Dongles that need firmware on the fake usbfs: `bluebench` reports the need, loads the firmware and uses the dongle.
    @Suite(.serialized, .onFakeUSB)
    struct FirmwareOverUSBTests {
        private static let models = [BootModel.rtl8761b, .intel]

        /// A firmware folder; empty without a model.
        private func folder(_ model: BootModel?) throws -> String {
            let root = FileManager.default.temporaryDirectory.appendingPathComponent("fw\(UInt64.random(in: 0 ... .max))").path
            try FileManager.default.createDirectory(atPath: root, withIntermediateDirectories: true)
            for file in model?.madeFirmware ?? [] {
                let url = URL(fileURLWithPath: root + "/" + file.name)
                try FileManager.default.createDirectory(at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
                try Data(file.octets).write(to: url)
            }
            return root
        }

        private static let cases = ["hci/random-numbers", "hci/reset-while-connected[role=central]"]

        private func runArguments(_ firmware: String) -> [String] {
            ["run"] + Self.cases + ["--tester", "usb:1-1", "--subject", "usb:1-2", "--firmware", firmware]
        }

        @Test(arguments: models) func aRunLoadsTheFirmwareAndTheDonglesKeepIt(model: BootModel) throws {
            let bus = try FakeUsbfsBus(boot: model)
            let folder = try folder(model)
            defer { try? FileManager.default.removeItem(atPath: folder) }
            let file = model.madeFirmware[0].name
            let before = try #require(try bus.run(["devices", "--firmware", folder]))
            #expect(before.code == 0 && before.output.contains("needs firmware: \(file); \(folder)/\(file)"), "\(before.output)")
            let result = try #require(try bus.run(runArguments(folder)))
            #expect(result.code == 0, "\(result.output)")
            #expect(result.output.components(separatedBy: "PASS ").count == 1 + Self.cases.count, "\(result.output)")
            let after = try #require(try bus.run(["devices"]))
            #expect(after.output.contains("already") && after.output.contains("02:BB:00:00:00:01"), "\(after.output)")
            let again = try #require(try bus.run(runArguments("/nowhere")))
            #expect(again.code == 0, "\(again.output)")
            for index in 0..<2 {
                #expect(bus.server.counters(index).openHandles == 0 && bus.server.counters(index).pending == 0)
            }
        }

        @Test(arguments: models) func aMissingFileEndsTheRunWithOneLine(model: BootModel) throws {
            let bus = try FakeUsbfsBus(boot: model)
            let folder = try folder(nil)
            defer { try? FileManager.default.removeItem(atPath: folder) }
            let file = model.madeFirmware[0].name
            let result = try #require(try bus.run(runArguments(folder)))
            #expect(
                result.code == 3 && result.output.contains("usb:1-1: needs firmware: \(file), which is not in \(folder)"),
                "\(result.output)")
            #expect(result.output.contains("apt install firmware-"), "\(result.output)")
            let devices = try #require(try bus.run(["devices", "--json", "--firmware", folder]))
            #expect(devices.code == 0 && devices.output.contains("\"impediment\" : \"needs firmware: \(file)"), "\(devices.output)")
        }

        @Test(arguments: models) func aDamagedFileEndsTheRunWithOneLine(model: BootModel) throws {
            let bus = try FakeUsbfsBus(boot: model)
            let folder = try folder(model)
            defer { try? FileManager.default.removeItem(atPath: folder) }
            let file = model.madeFirmware[0]
            var octets = file.octets
            octets[octets.count * 3 / 4] ^= 0x40
            try Data(octets).write(to: URL(fileURLWithPath: folder + "/" + file.name))
            let result = try #require(try bus.run(runArguments(folder)))
            #expect(result.code == 3 && result.output.contains("usb:1-1: "), "\(result.output)")
            #expect(result.output.split(separator: "\n").count == 1, "\(result.output)")
        }

        @Test(arguments: models) func aDonglePulledOutDuringTheDownloadEndsTheRun(model: BootModel) throws {
            let bus = try FakeUsbfsBus(boot: model)
            let folder = try folder(model)
            defer { try? FileManager.default.removeItem(atPath: folder) }
            let server = bus.server
            var commands = 0
            server.onActivity = { [unowned server] index, activity in
                // During the download; both pipes carry fragments.
                guard index == 0, [.submit(endpoint: 0), .submit(endpoint: 2)].contains(activity) else { return }
                commands += 1
                if commands == 60 { server.unplug(0) }
            }
            let result = try #require(try bus.run(runArguments(folder)), "the run hung")
            #expect(result.code == 3 && result.output.contains("usb:1-1"), "\(result.output)")
            #expect(commands >= 60)
            #expect(server.counters(1).openHandles == 0 && server.counters(1).pending == 0)
        }
    }
#endif
