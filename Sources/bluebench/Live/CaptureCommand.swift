import ArgumentParser
import BBBench
import BBCapture
import BBDiagnosis
import BBHost
import BBPackets
import BBSessions
import BBTiming
import BBTransport
import BBVirtualDongle

/// `bluebench capture`: shows and records the HCI packets of devices as they come.
struct CaptureCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "capture", abstract: "Capture the HCI of devices live, in the terminal and in files.",
        discussion: """
            With --between, a program uses the device through this command: it connects to the socket, and its packets are captured. A device \
            without --between listens to advertisers. --web shows the packets in a browser instead of lines. Ends with Ctrl-C. The selection \
            is for the lines; a file has all packets, keys included, and mode 0600.
            """)

    @Argument(help: .device) var devices: [String]
    @Option(
        help: ArgumentHelp(
            "Serve a device to a program: tcp-listen:PORT, 0 for a free one, tcp-listen:HOST:PORT or unix-listen:PATH. The first is for the first device, and so on.",
            valueName: "socket"))
    var between: [String] = []
    @Option(help: ArgumentHelp("Write a capture: .btsnoop, .pcapng, .pklg, or a pipe.", valueName: "file"), completion: .file())
    var write: String?
    @Option(
        help: ArgumentHelp("With --write: keep the newest n files, named FILE-00001 and so on.", valueName: "n"),
        transform: Arguments.whole(2...100_000))
    var ringFiles: Int?
    @Option(
        help: ArgumentHelp("With --ring-files: size of a file. Default: 10.", valueName: "MB"), transform: Arguments.whole(1...100_000))
    var ringSize: Int?
    @Option(help: ArgumentHelp("Time to capture. Default: until Ctrl-C.", valueName: "s"), transform: Arguments.whole(1...86_400 * 30))
    var seconds: Int?
    @Flag(help: "Print no packets.") var quiet = false
    @OptionGroup(title: "Selection") var selected: SelectionOptions
    @OptionGroup(title: "Page") var page: WebOptions
    @OptionGroup(title: "Lines") var form: LineFormOptions
    @OptionGroup(title: "Dongles on USB") var firmware: FirmwareOptions

    func validate() throws {
        guard between.count <= devices.count else { throw ValidationError("too many --between: each needs a device") }
        if ringFiles != nil, write == nil { throw ValidationError("--ring-files needs --write FILE") }
        if ringSize != nil, ringFiles == nil { throw ValidationError("--ring-size needs --ring-files N") }
        if quiet, write == nil, page.web == nil { throw ValidationError("--quiet needs --write: nothing would be captured") }
        try form.validate()
        try page.validate()
        if page.web != nil, form.hide { throw ValidationError("--hide and --web exclude each other: the page shows whole packets") }
    }

    func run() throws {
        let signals = SignalHandler()
        do {
            let selectors = try devices.map { try DeviceSelector($0) }
            guard !selectors.contains(.virtual) else {
                throw CommandFailure(.usage, "'virtual' has no peers here: start some with `bluebench dongle`, then use tcp:HOST:PORT")
            }
            guard Set(selectors).count == selectors.count else { throw CommandFailure(.usage, "the same device is named twice") }
            let sockets = try between.map { try BenchEnds.listeningAddress($0, option: "--between") }
            let loop = BBTiming.RunLoop(mode: .wall)
            let capture = try makeCapture(loop)
            let ended = Promise<Void>(on: loop)
            capture.onEnd = { error in if let error { ended.fail(error) } else { ended.fulfil(()) } }
            if let seconds { loop.schedule(after: .seconds(seconds)) { ended.fulfil(()) } }
            capture.keepFlushing(on: loop)
            let outcome = Result {
                try self.capture(selectors, sockets, into: capture, on: loop) {
                    // Opening blocks the loop; until then a signal ends the program at once.
                    signals.onStop(on: loop) { ended.fulfil(()) }
                    return ended
                }
            }
            try capture.finish()
            try outcome.get()
            if quiet { Console.complain(Console.count(capture.count, "packet")) }
            if let lack = capture.lackOfMatches { Console.complain(lack) }
        } catch {
            throw CommandFailure(error)
        }
    }

    private func makeCapture(_ loop: BBTiming.RunLoop) throws -> LiveCapture {
        let interfaces = devices.map { CaptureInterface(name: $0, linkType: .h4WithDirection) }
        let ring = ringFiles.map { (files: $0, octets: (ringSize ?? 10) * 1_000_000) }
        // A ring leaves files out, with whose packets notes would go.
        let notes = write.map { ring == nil ? CaptureNotes(besideNew: $0) : CaptureNotes() } ?? CaptureNotes()
        let server = try page.web.map { _ in
            let store = LiveStore(interfaces, names: form.names, rules: try DiagnosisRule.builtIn(), notes: notes)
            return try LiveServer(
                host: page.host, port: page.web ?? 0, token: try page.token(), store, names: form.names, on: loop)
        }
        if let server { Console.complain("the page is \(server.address)") }
        return LiveCapture(
            interfaces, epoch: .epoch(of: loop), selection: try selected.selection(isHiding: form.hide),
            lines: quiet || server != nil ? nil : PacketOutput(form.form, to: ConsoleText()), names: form.names,
            file: try write.map { try RingFile($0, interfaces: interfaces, ring: ring) }, page: server)
    }

    /// - Parameter isOpen: called when all devices are open; returns the end of the capture.
    private func capture(
        _ selectors: [DeviceSelector], _ sockets: [SocketAddress], into capture: LiveCapture, on loop: BBTiming.RunLoop,
        _ isOpen: () -> Promise<Void>
    ) throws {
        let opener = try firmware.toolOpener()
        func device(_ index: Int) throws -> BenchDevice {
            try opener.device(selectors[index], on: loop).observed {
                TapTransport($0, on: loop) { capture.add($0, $1, interface: index, at: $2) }
            }
        }
        let servers = try sockets.enumerated().map { index, socket in
            let shared = SharedDevice(on: loop) { try device(index).transport }
            shared.onTrouble = { Console.complain($0) }
            let server = H4DongleServer(backend: shared, on: loop)
            server.onEvent = { Self.report($0) }
            Console.complain("\(try server.offer(0, at: socket)) leads to \(selectors[index])")
            return (server, shared)
        }
        let listeners = try (sockets.count..<selectors.count).map { index in
            try device(index).host(on: loop, database: GATTDatabase(deviceName: "bluebench"))
        }
        let ended = isOpen()
        defer {
            for (server, _) in servers { server.stop() }
            let ends: [() async throws -> Void] =
                servers.map { server in { await server.1.leave() } } + listeners.map { host in { await host.leave() } }
            try? loop.run { try await loop.runTogether(ends) }
        }
        try loop.run { try await Self.listen(listeners, until: ended, on: loop) }
    }

    /// Scans until the end, which also ends the start of a controller that is silent or slow.
    private static func listen(_ hosts: [Host], until ended: Promise<Void>, on loop: BBTiming.RunLoop) async throws {
        let scans = try await ended.interrupts(
            {
                var settings = ScanSettings()
                settings.isActive = false
                var scans: [Scan] = []
                for host in hosts {
                    try await host.start()
                    scans.append(try await host.scan(settings) { _ in })
                }
                return scans
            }, on: loop)
        guard let scans else { throw CommandFailure(.bench, "the capture ended before every device had answered its first commands") }
        try await ended.value()
        for scan in scans { await loop.cleanUp(within: .milliseconds(300)) { try await scan.stop() } }
    }

    private static func report(_ event: DongleEvent) {
        switch event {
        case .attached: Console.complain("a program has connected")
        case .left: Console.complain("the program has left")
        case .refused: Console.complain("in use: another program was refused")
        case .failed(_, let reason): Console.complain(reason)
        }
    }
}
