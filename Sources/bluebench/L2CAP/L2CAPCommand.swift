import ArgumentParser
import Host
import Packets
import Timing

/// `bluebench l2cap`: a pipe over credit-based channels, a bridge to TCP, or single SDUs.
struct L2CAPCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "l2cap", abstract: "Use L2CAP channels as a pipe, as a bridge to TCP, or for single SDUs.",
        discussion: """
            --peer opens a channel, and --listen accepts one: the standard input goes to the peer, and what comes from it to the standard output. \
            With --tcp-listen, each TCP connection to this machine gets a channel to --peer; with --tcp, each channel that a peer opens to --listen \
            gets a TCP connection. --send sends single SDUs and prints the SDUs that return. Without any of these, every SDU is echoed. The end of \
            the input or Ctrl-C closes the channel. Exit code 1 when the peer refuses or breaks off. Page: docs/guide/l2cap.md.
            """)

    @Argument(help: .device) var device: String
    @Option(help: "Peer: its address, C0:B1:BE:00:00:01/random, its name, or the UUID of a service that it advertises.") var peer: String?
    @Flag(help: "Advertise and accept channels.") var listen = false
    @Option(help: "SPSM of the service, 1 to 255.", transform: Arguments.whole(1...255)) var spsm: UInt16 = 128
    @Flag(help: "With --peer: use the SPSM that the peer publishes. With --listen: publish it in a characteristic.") var published = false
    @Option(help: ArgumentHelp("SDU to send. Repeatable.", valueName: "hex")) var send: [String] = []
    @Option(
        help: ArgumentHelp("Number of channels that the octets of the pipe are dealt to in turn; the same on both sides.", valueName: "n"),
        transform: Arguments.whole(1...32))
    var channels = 1
    @Option(help: "Number of channels to open in one enhanced request, 1 to 5.", transform: Arguments.whole(1...5)) var enhanced: Int?
    @Option(
        help: ArgumentHelp("With --peer: accept TCP connections on this port of this machine, 0 for any.", valueName: "port"),
        transform: Arguments.whole(0...65_535))
    var tcpListen: UInt16?
    @Option(
        help: ArgumentHelp("With --listen: connect each channel to this port of this machine.", valueName: "host:port"),
        transform: LoopbackSocket.port)
    var tcp: UInt16?
    @Option(help: "MTU: the longest SDU to receive, 23 to 65535. Default: 1974 for pipes, 512.", transform: Arguments.whole(23...65_535))
    var mtu: UInt16?
    @Option(help: "MPS: the longest K-frame payload to receive, 23 to 65533.", transform: Arguments.whole(23...65_533)) var mps: UInt16 =
        247
    @Option(
        help: "Credits of the peer, 1 to 65535; it gets new ones as its data is read. Default: 64 for pipes, 10.",
        transform: Arguments.whole(1...65_535))
    var credits: UInt16?
    @Option(help: "Connection interval in ms, with --peer.", transform: Arguments.interval) var interval = 15.0
    @Option(help: "PHY to request with --peer: 1m, 2m or coded.") var phy: String?
    @Flag(help: "Keep the channel open after the end of the input, until the peer closes it.") var keepOpen = false
    @Flag(help: "Show the octets and the rate once a second, even if the standard error stream is no terminal.") var progress = false
    @Option(
        help: "With --send and for the echo: timeout in seconds. For pipes: time to wait for the peer to open a channel.",
        transform: Arguments.seconds)
    var seconds: Double?
    @OptionGroup var firmware: FirmwareOptions

    func validate() throws {
        if listen, peer != nil { throw ValidationError("--listen waits for a peer, and --peer is one to connect to") }
        if !send.isEmpty, peer == nil { throw ValidationError("--send needs --peer") }
        if tcpListen != nil, peer == nil { throw ValidationError("--tcp-listen opens a channel for each connection: it needs --peer") }
        if tcp != nil, !listen { throw ValidationError("--tcp connects each channel that a peer opens: it needs --listen") }
        if tcp != nil || tcpListen != nil, channels > 1 || enhanced != nil {
            throw ValidationError("a TCP connection has one channel of its own: --channels and --enhanced would change nothing")
        }
        if enhanced != nil, channels > 1 { throw ValidationError("--channels and --enhanced are two numbers of channels") }
        if published, peer == nil, !listen { throw ValidationError("--published needs --peer or --listen") }
    }

    func run() throws {
        let command = self
        let selector = try peer.map { try TransportOption.le.peer($0) }
        let phys = try phy.map(Arguments.phys)
        let sdus = try send.map {
            guard let octets = Hex.parse($0) else { throw CommandFailure(.usage, "--send \($0) is no octets in hexadecimal") }
            return octets
        }
        let database = GATTDatabase(deviceName: "bluebench")
        if published, listen {
            database.add(ServiceDefinition(L2CAPService.uuid, characteristics: [.publishing(spsm)]))
        }
        let prepare: (Host) -> Void = { $0.addressChoice = .drawn }
        try HostSession.run(on: device, firmware: firmware, database: database, prepare: prepare) { host in
            guard let selector else { return try await command.listen ? command.accept(host) : command.echo(host) }
            let address = try await selector.found(by: host)
            if sdus.isEmpty {
                try await command.connect(host, to: address, phys)
            } else {
                try await command.exchange(sdus, with: address, host)
            }
        }
    }

    private var isPipe: Bool { listen || peer != nil && send.isEmpty }

    private var settings: CreditBasedChannelSettings {
        CreditBasedChannelSettings(mtu: mtu ?? (isPipe ? 1_974 : 512), mps: mps, initialCredits: credits ?? (isPipe ? 64 : 10))
    }

    // MARK: Pipes

    private func connect(_ host: Host, to address: DeviceAddress, _ phys: PHYs?) async throws {
        var connecting = ConnectSettings()
        connecting.parameters = ConnectionParameterRequest(interval: UInt16(clamping: Int(interval / 1.25)))
        let link = try await host.connectAnswered(to: address, connecting)
        if let phys { _ = try await link.updatePHY(tx: phys, rx: phys) }
        if host.controller.leFeatures.contains(.leDataPacketLengthExtension) { _ = try await link.updateDataLength(txOctets: 251) }
        let target = published ? try await publishedSPSM(link) : spsm
        let pipes = DeskPipes(host, keepsOpen: keepOpen, showsProgress: progress)
        if let tcpListen {
            let listener = try LoopbackListener(port: tcpListen, on: host.loop)
            Console.complain("listening on 127.0.0.1:\(listener.port), SPSM \(Hex.number(target))")
            let settings = settings
            try await pipes.run(until: link) { pipes.serve(listener) { try await link.openChannel(target, settings) } }
        } else {
            let opened = try await open(target, on: link)
            try await pipes.run(until: link) { pipes.add(opened, desk: .standard(on: host.loop), isLast: true) }
        }
        // After Ctrl-C the link ends as the host leaves.
        guard !Task.isCancelled else { return }
        await pipes.drain(link)
        try await link.disconnect()
        try pipes.check()
    }

    private func open(_ target: UInt16, on link: Connection) async throws -> [CreditBasedChannel] {
        if let enhanced { return try await link.openChannels(target, count: enhanced, settings) }
        var opened: [CreditBasedChannel] = []
        for _ in 0..<channels { opened.append(try await link.openChannel(target, settings)) }
        return opened
    }

    private func publishedSPSM(_ link: Connection) async throws -> UInt16 {
        guard let found = try await link.gatt.publishedSPSMs().first else {
            throw CommandFailure(.fail, "the peer publishes no SPSM (characteristic \(BluetoothUUID.publishedSPSM))")
        }
        return found
    }

    private func accept(_ host: Host) async throws {
        let pipes = DeskPipes(host, keepsOpen: keepOpen, showsProgress: progress)
        let wanted = enhanced ?? channels
        let first = Promise<Void>(on: host.loop)
        var waiting: [CreditBasedChannel] = []
        var links: [Connection] = []
        host.listen(spsm, settings) { [tcp] channel, link in
            links.removeAll { !$0.isConnected || $0 === link }
            links.append(link)
            if let tcp {
                first.fulfil(())
                pipes.add([channel], connectingTo: tcp)
            } else if first.isSettled {
                Console.complain("a further channel was closed: the pipe has its \(Console.count(wanted, "channel"))")
                channel.disconnect()
            } else {
                waiting.append(channel)
                guard waiting.count == wanted else { return }
                first.fulfil(())
                pipes.add(waiting, desk: .standard(on: host.loop), isLast: true)
            }
        }
        let data = AdvertisingData([.flags(.generalDiscoverable)])
        var set = try await host.advertise(AdvertisingSettings(data: data))
        Console.complain("advertising as \(host.address), SPSM \(Hex.number(spsm))")
        // A peer may connect only to look; a bridge serves one after the other.
        let again = host.loop.start {
            while true {
                let link = try await host.nextIncomingConnection(within: .seconds(86_400 * 365))
                _ = try await link.ended(within: .seconds(86_400 * 365))
                set = try await host.advertise(AdvertisingSettings(data: data))
            }
        }
        defer { again.cancel() }
        do {
            if let seconds { try await first.value(until: host.loop.now + .seconds(seconds)) } else { try await first.value() }
        } catch is TimeOut {
            throw CommandFailure(.fail, "no peer opened \(wanted > 1 ? "\(wanted) channels" : "a channel") within \(seconds ?? 0) s")
        } catch is CancellationError {
            return
        }
        _ = set
        try await pipes.run(until: nil) {}
        for link in links { await pipes.drain(link) }
        try pipes.check()
    }

    // MARK: Single SDUs

    private func exchange(_ sdus: [[UInt8]], with address: DeviceAddress, _ host: Host) async throws {
        let link = try await host.connectAnswered(to: address)
        for channel in try await open(published ? try await publishedSPSM(link) : spsm, on: link) {
            Console.line(Self.title(channel) + ": open, \(channel.peerMTU) octets, \(channel.credits) credits")
            for sdu in sdus {
                try await channel.send(sdu)
                let answer = try await channel.receive(within: .seconds(seconds ?? 10))
                Console.line(Self.title(channel) + ": \(Hex.octets(answer))")
            }
            channel.disconnect()
        }
        try await link.disconnect()
    }

    private func echo(_ host: Host) async throws {
        let loop = host.loop
        host.listen(spsm, settings) { channel in
            Console.line(Self.title(channel) + ": open, \(channel.peerMTU) octets, \(channel.credits) credits")
            var waiting: [Activity<Void>] = []
            channel.onReceive = { [unowned channel] sdu in
                Console.line(Self.title(channel) + ": \(Hex.octets(sdu))")
                waiting.append(loop.start { [channel] in try await channel.send(sdu) })
                waiting.removeAll(where: \.isOver)
            }
        }
        _ = try await host.advertise(AdvertisingSettings(data: AdvertisingData([.flags(.generalDiscoverable)])))
        Console.line("advertising as \(host.address), SPSM \(Hex.number(spsm))")
        try await loop.sleep(for: .seconds(seconds ?? 10))
    }

    static func title(_ channel: CreditBasedChannel) -> String { "channel \(Hex.number(channel.localCID))" }
}

/// The service that publishes an SPSM for `bluebench l2cap --listen --published`.
enum L2CAPService {
    static let uuid = BluetoothUUID(long: 0xB1BE_0300_7E57_4ACC_9D3A_0B5E_55ED_0001)
}
