#if os(Linux)
    import Foundation
    import BBPackets
    import BBSimulation
    import BBTiming
    import BBVirtualDongle

    /// A bus with many dongles, each with its own conduct.
    final class QuirkBus {
        let loop = BBTiming.RunLoop(mode: .wall)
        let folder = FakeUsbfsBus.newFolder()
        let server: UsbfsServer

        init(_ conducts: [DongleConduct]) throws {
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            let loop = loop
            let simulation = Simulation(loop: loop, seed: 1)
            let backends: [any DongleBackend] = try conducts.enumerated().map { index, conduct in
                let configuration = ControllerConfiguration(address: DeviceAddress(value: 0x02BB_0000_0000 + UInt64(index + 1)))
                return try conduct.makeBackend(simulation, configurations: [configuration], on: loop)
            }
            server = try UsbfsServer(
                folder: folder, serialNumbers: conducts.indices.map { "Q\($0)" }, on: loop,
                conducts: Dictionary(uniqueKeysWithValues: conducts.enumerated().map { ($0, $1.usb) }),
                describe: { serial in
                    var descriptors = DongleDescriptors(serialNumber: serial)
                    if let index = Int(serial.dropFirst()), conducts.indices.contains(index) { conducts[index].apply(to: &descriptors) }
                    return descriptors
                }, makePipe: { try backends[$0].pipe(to: 0, on: loop) })
            server.onPortReset = { backends[$0].portWasReset(0) }
            server.onOpened = { backends[$0].wasOpened(0) }
        }

        deinit { try? FileManager.default.removeItem(atPath: folder) }

        /// Starts a host on every dongle, in one process; nil if it does not end.
        ///
        /// - Parameter firmware: a firmware folder, or `none`.
        func start(firmware: String = "none", timeout: Double, _ options: [String] = []) throws -> [StartOutcome]? {
            let devices = (1...server.count).map { "usb:1-\($0)" }
            let program = try SpawnedProgram(
                ["start"] + devices + ["--firmware", firmware, "--usb-timeout", "\(timeout)"] + options, folder: folder)
            guard try program.end(on: loop) else { return nil }
            program.reap()
            let decoder = JSONDecoder()
            let outcomes = program.output.split(separator: "\n").compactMap {
                try? decoder.decode(StartOutcome.self, from: Data($0.utf8))
            }
            if outcomes.count != devices.count { throw StartOutcome.Failure(description: program.output) }
            return outcomes
        }
    }

    /// Result for one dongle.
    struct StartOutcome: Decodable {
        struct Failure: Error, CustomStringConvertible {
            var description: String
        }

        var device: String
        var impediment: String?
        var trouble: String?
        var startup: String?
        var usbMode: String?
        var address: String?
        var learned: [String: String]
        var milliseconds: Int
        var isClean: Bool
    }
#endif
