import ArgumentParser
import BBCapture
import BBPackets
import BBSessions
import BBSimulation
import BBTiming
import BBTransport
import BBVirtualDongle
import Foundation

/// `bluebench dongle`: offers virtual dongles to other programs.
struct DongleCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "dongle", abstract: "Serve virtual dongles on one simulated air to other programs, in real time.",
        discussion: """
            Prints the selector and the device address of each dongle, and serves until Ctrl-C. When a client disconnects, its dongle is \
            reset for the next one.
            """)

    @Option(help: ArgumentHelp("Serve H4 on TCP ports PORT, PORT+1 and so on; 0 for free ones.", valueName: "port"))
    var tcp: UInt16?
    @Option(help: ArgumentHelp("Serve H4 on Unix sockets PATH, PATH.1 and so on.", valueName: "path")) var unix: String?
    @Option(help: ArgumentHelp("Export USB dongles over USB/IP on a TCP port; 0 for a free one.", valueName: "port"))
    var usbip: UInt16?
    @Option(
        help: ArgumentHelp(
            "Emulate Linux usbfs in an empty folder, for libusb programs under umockdev.", valueName: "folder"),
        completion: .directory)
    var usbfs: String?
    @Option(help: "Number of dongles.") var count = 1
    @Option(help: "Controller type: le, or dual for LE and BR/EDR.") var profile = Profile.le
    @Option(help: "The address to listen on.") var host = "127.0.0.1"
    @Option(help: "Seed of every random choice on the air, and of keys and nonces in virtual time; keys are always random otherwise.")
    var seed: UInt64 = 1
    @OptionGroup var sharing: VirtualTimeOptions
    @OptionGroup var surroundings: SurroundingsOptions
    @OptionGroup var kind: DongleKindOptions
    @Option(
        help: ArgumentHelp(
            "Boot ROM that waits for firmware: \(BootModel.allCases.map(\.rawValue).joined(separator: ", ")).", valueName: "model"))
    var boot: BootModel?
    @Option(
        help: ArgumentHelp("With --boot: write the firmware files that the dongle accepts to a folder.", valueName: "folder"),
        completion: .directory)
    var writeFirmware: String?
    @Option(
        help: ArgumentHelp(
            "Write the HCI packets of every dongle, link keys included; the file has mode 0600.", valueName: "file"
        ), completion: .file()) var capture: String?
    @Option(help: ArgumentHelp("Write every transmission on the simulated air as pcapng.", valueName: "file"), completion: .file()) var air:
        String?

    enum Profile: String, CaseIterable, ExpressibleByArgument {
        case le
        case dual
    }

    func validate() throws {
        guard !kind.lists else { return }
        let ways = [tcp != nil, unix != nil, usbip != nil, usbfs != nil].count { $0 }
        guard ways == 1 else {
            throw ValidationError("missing place to serve the dongles: give --tcp PORT, --unix PATH, --usbip PORT or --usbfs FOLDER")
        }
        try sharing.check()
        if sharing.virtualTime, tcp == nil && unix == nil || kind.profile?.boot != nil || boot != nil {
            throw ValidationError("--virtual-time needs --tcp or --unix, and a chip that does not wait for firmware")
        }
        guard boot == nil || kind.chip == nil else { throw ValidationError("--boot and --chip exclude each other: each names the chip") }
        guard writeFirmware == nil || model != nil else {
            throw ValidationError("--write-firmware needs --boot, or a --chip that waits for firmware")
        }
        _ = try kind.conduct(boot)
        guard (1...64).contains(count) else { throw ValidationError("--count takes a number from 1 to 64") }
        if let tcp, tcp > 0, Int(tcp) + count - 1 > 65_535 {
            throw ValidationError("--tcp \(tcp) is too high: each of the \(count) dongles needs its own port, up to 65535")
        }
    }

    /// The chip's boot loader, if it has one.
    private var model: BootModel? { boot ?? kind.profile?.boot }

    func run() throws {
        guard !kind.lists else { return kind.printLists() }
        let loop = sharing.makeLoop()
        let signals = SignalHandler()
        let ended = Promise<Void>(on: loop)
        if let model, let writeFirmware { try write(model.madeFirmware, below: writeFirmware) }
        var paths = OutputPaths()
        for (option, path) in [("--capture", capture), ("--air", air)] { try paths.add(option, path) }
        let captures = try Captures(packets: capture, air: air, on: loop)
        let simulation = Simulation(loop: loop, seed: seed)
        try captures.logAir(of: simulation)
        try surroundings.settle(in: simulation)
        signals.onStop(on: loop) { ended.fulfil(()) }
        let servers = try start(simulation, captures, ended, loop)
        if tcp != nil || usbip != nil, !LoopbackSocket.isLoopback(host) {
            Console.complain("others reach \(host): every machine that connects can use these virtual dongles, without a token")
        }
        // In virtual time, the captures are flushed before a client is woken.
        if !sharing.virtualTime { captures.keepFlushing(on: loop) }
        let outcome = Result { try loop.run { try await ended.value() } }
        for stop in servers { stop() }
        do { try captures.finish() } catch { throw CommandFailure(.bench, "\(error)") }
        do { try outcome.get() } catch { throw CommandFailure(error) }
    }

    /// Starts the servers and prints their addresses; returns the functions that stop them.
    private func start(_ simulation: Simulation, _ captures: Captures, _ ended: Promise<Void>, _ loop: BBTiming.RunLoop) throws -> [() ->
        Void]
    {
        let configurations = (0..<count).map { index in
            var configuration = ControllerConfiguration(address: DeviceAddress(value: 0x02BB_0000_0001 + UInt64(index)))
            configuration.profile = profile == .dual ? .dual : .le
            return configuration
        }
        do {
            let conduct = try kind.conduct(boot)
            let backend = try conduct.makeBackend(
                simulation, configurations: configurations, capture: captures.packets, seed: seed, on: loop)
            let addresses = configurations.map { configuration in
                var configuration = configuration
                conduct.apply(to: &configuration)
                return configuration.address
            }
            noticeClassicCommands(simulation, addresses)
            if let usbip { return [try offerUSB(backend, addresses, conduct, port: usbip, loop)] }
            if let usbfs { return [try offerFolder(backend, addresses, conduct, usbfs, loop)] }
            if sharing.virtualTime { return [try offerVirtualTime(backend, addresses, captures, ended, loop)] }
            let server = H4DongleServer(backend: backend, on: loop)
            server.onEvent = { Self.report($0) }
            for (index, own) in addresses.enumerated() {
                let address = try server.offer(index, at: socketAddress(of: index))
                Console.line("\(address) \(own)")
            }
            return [{ server.stop() }]
        } catch {
            throw CommandFailure(error)
        }
    }

    private func offerVirtualTime(
        _ backend: any DongleBackend, _ own: [DeviceAddress], _ captures: Captures, _ ended: Promise<Void>, _ loop: BBTiming.RunLoop
    ) throws -> () -> Void {
        let server = try VirtualTimeServer(own.indices.map(socketAddress), on: loop, limits: sharing.limits) {
            try backend.attach($0, to: $1)
        }
        server.onStandstill = { captures.flush() }
        server.onEvent = { event in
            switch event {
            case .attached, .left: break
            case .refused(let port, let reason): Console.complain("controller \(port): \(reason)")
            case .fault(let text): ended.fail(CommandFailure(.bench, text))
            }
        }
        for (address, own) in zip(server.addresses, own) { Console.line("\(address) \(own)") }
        return { server.stop() }
    }

    /// OGF of LE commands; those of other standard commands are below. Core Vol 4, Part E, 5.4.1.
    private static let leGroup: UInt16 = 0x08

    /// Reports the first BR/EDR command of each controller's host, for hosts that fail because the default profile is LE only.
    private func noticeClassicCommands(_ simulation: Simulation, _ addresses: [DeviceAddress]) {
        guard profile == .le, kind.chip == nil, !Arguments.given("--profile") else { return }
        var told: Set<DeviceAddress> = []
        simulation.onUnknownCommand = { own, opcode in
            guard opcode >> 10 < Self.leGroup, let command = PDUCatalog.command(opcode: opcode)?.name, told.insert(own).inserted else {
                return
            }
            Console.complain(
                "controller \(addresses.firstIndex(of: own) ?? 0) supports only LE, but its host sent \(command); "
                    + "--profile dual gives it BR/EDR, too")
        }
    }

    private func serialNumbers(_ addresses: [DeviceAddress]) -> [String] { addresses.map { $0.description.split(separator: ":").joined() } }

    private func offerUSB(
        _ backend: any DongleBackend, _ addresses: [DeviceAddress], _ conduct: DongleConduct, port: UInt16, _ loop: BBTiming.RunLoop
    ) throws -> () -> Void {
        let serials = serialNumbers(addresses)
        let server = try USBIPServer(
            .tcp(host: host, port: port), serialNumbers: serials, on: loop, conduct: conduct.usb, describe: conduct.describe,
            makePipe: { try backend.pipe(to: $0, on: loop) })
        server.onPortReset = { backend.portWasReset($0) }
        server.report = { Console.complain($0) }
        server.start()
        for (device, address) in zip(server.devices, addresses) { Console.line("usbip:\(server.address) \(device.busID) \(address)") }
        return { server.stop() }
    }

    private func offerFolder(
        _ backend: any DongleBackend, _ addresses: [DeviceAddress], _ conduct: DongleConduct, _ folder: String, _ loop: BBTiming.RunLoop
    ) throws -> () -> Void {
        #if os(Linux)
            let serials = serialNumbers(addresses)
            do {
                let conducts = Dictionary(uniqueKeysWithValues: serials.indices.map { ($0, conduct.usb) })
                let server = try UsbfsServer(
                    folder: folder, serialNumbers: serials, on: loop, conducts: conducts, describe: conduct.describe
                ) {
                    try backend.pipe(to: $0, on: loop)
                }
                server.onPortReset = { backend.portWasReset($0) }
                server.onOpened = { backend.wasOpened($0) }
                server.onTrouble = { Console.complain($0) }
                for (index, address) in addresses.enumerated() { Console.line("usbfs:\(folder) usb:1-\(index + 1) \(address)") }
                return {
                    for index in serials.indices { Console.line("usb:1-\(index + 1) \(server.account(of: index))") }
                    server.stop()
                }
            } catch {
                throw CommandFailure(.bench, "\(error)")
            }
        #else
            throw CommandFailure(.usage, "--usbfs works on Linux only")
        #endif
    }

    private func write(_ files: [MadeFirmware], below folder: String) throws {
        for file in files {
            let url = URL(fileURLWithPath: folder + "/" + file.name)
            do {
                try FileManager.default.createDirectory(at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
            } catch { throw CommandFailure(.usage, "cannot write \(url.path): \(systemReason(error))") }
            try OutputFile(url.path).write(Data(file.octets))
            Console.line("firmware \(url.path)")
        }
    }

    private func socketAddress(of index: Int) -> SocketAddress {
        if let unix { return .unix(path: index == 0 ? unix : "\(unix).\(index)") }
        let first = tcp ?? 0
        return .tcp(host: host, port: first == 0 ? 0 : first + UInt16(index))
    }

    private static func report(_ event: DongleEvent) {
        switch event {
        case .attached, .left: break
        case .refused(let controller): Console.complain("controller \(controller) is in use: another client was refused")
        case .failed(let controller, let reason): Console.complain("controller \(controller): \(reason)")
        }
    }
}

extension BootModel: ExpressibleByArgument {}
