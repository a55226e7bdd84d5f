#if os(Linux)
    import Foundation
    import BBPackets
    import BBSimulation
    import BBTiming
    import BBVirtualDongle

    /// Two dongles on one air, and the actions of programs on them.
    final class FakeUsbfsBus {
        let loop = BBTiming.RunLoop(mode: .wall)
        let folder = FakeUsbfsBus.newFolder()
        let server: UsbfsServer

        /// A folder for a bus and the files of its programs. It is in memory if possible: renaming a file waits for the disk, seconds if
        /// that is busy, and the tests have limits for the programs.
        static func newFolder() -> String {
            let memory = "/dev/shm"
            let isThere = FileManager.default.isWritableFile(atPath: memory)
            return (isThere ? memory : FileManager.default.temporaryDirectory.path) + "/bb\(UInt32.random(in: 0 ... .max))"
        }

        /// - Parameters:
        ///   - boot: dongles that need firmware.
        ///   - conduct: chip and behaviour of the dongles.
        ///   - subject: conduct of the second dongle, if different.
        ///   - halt: a halting endpoint of the first dongle.
        ///   - seed: determines packet loss and all other random choices.
        ///   - surround: changes the air.
        ///   - voicePacketSizes: isochronous packet size of each alternate setting.
        ///   - configure: changes the configurations of the controllers.
        init(
            boot: BootModel? = nil, conduct: DongleConduct = DongleConduct(), subject: DongleConduct? = nil,
            halt: USBConduct.Halt? = nil,
            seed: UInt64 = 1,
            surround: (Simulation) throws -> Void = { _ in },
            voicePacketSizes: [Int] = DongleDescriptors(serialNumber: "").voicePacketSizes,
            configure: (inout ControllerConfiguration) -> Void = { _ in }
        ) throws {
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            let configurations = (1...2).map {
                var configuration = ControllerConfiguration(address: DeviceAddress(value: 0x02BB_0000_0000 + UInt64($0)))
                configure(&configuration)
                return configuration
            }
            let simulation = Simulation(loop: loop, seed: seed)
            try surround(simulation)
            let conducts = [conduct, subject ?? conduct]
            let backends: [any DongleBackend] = try configurations.enumerated().map { [loop] index, configuration in
                if let boot {
                    return BootloaderBackend(
                        try SimulatedBackend(simulation, configurations: [configuration], on: loop), model: boot, on: loop)
                }
                return try conducts[index].makeBackend(
                    simulation, configurations: [configuration], seed: seed &+ UInt64(index), on: loop)
            }
            var usb = Dictionary(uniqueKeysWithValues: conducts.enumerated().map { ($0, $1.usb) })
            usb[0]?.halt = halt
            server = try UsbfsServer(
                folder: folder, serialNumbers: ["BB1", "BB2"], on: loop, conducts: usb,
                describe: {
                    var descriptors = boot?.descriptors(serialNumber: $0) ?? DongleDescriptors(serialNumber: $0)
                    descriptors.voicePacketSizes = voicePacketSizes
                    conducts[$0 == "BB2" ? 1 : 0].apply(to: &descriptors)
                    return descriptors
                },
                makePipe: { [loop] in try backends[$0].pipe(to: 0, on: loop) })
            server.onPortReset = { backends[$0].portWasReset(0) }
            server.onOpened = { backends[$0].wasOpened(0) }
        }

        deinit { try? FileManager.default.removeItem(atPath: folder) }

        /// Runs the program and returns its exit code and output, or nil if it had to be killed.
        func run(_ arguments: [String], once said: String? = nil, meanwhile: (() -> Void)? = nil) throws -> (code: Int32, output: String)? {
            let program = try SpawnedProgram(arguments, folder: folder)
            if let said { _ = try program.prints(said, on: loop) }
            try loop.run { meanwhile?() }
            guard try program.end(on: loop) else { return nil }
            // The fake handles closed handles on its loop.
            try loop.run { [loop] in try await loop.sleep(for: 20_000) }
            return (program.reap(), program.output)
        }
    }
#endif
