import ArgumentParser
import BBHost
import BBPackets
import BBSessions
import BBTiming

/// `bluebench l2cap`: a pipe over credit-based channels, a bridge to TCP, or single SDUs.
struct L2CAPCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "l2cap", abstract: "Use L2CAP channels as a pipe, as a bridge to TCP, or for single SDUs.",
        discussion: """
            --peer opens a channel, and --listen accepts one: the standard input goes to the peer, and what comes from it to the standard output. \
            With --tcp-listen, each TCP connection to this machine gets a channel to --peer; with --tcp, each channel that a peer opens to --listen \
            gets a TCP connection. --send sends single SDUs and prints the SDUs that return. Without any of these, every SDU is echoed. The end of \
            the input or Ctrl-C closes the channel. Exit code 1 when the peer refuses or breaks off. \
            A link with a bonded peer is encrypted first. Page: docs/guide/l2cap.md.
            """)

    @Argument(help: .device) var device: String
    @Option(help: "Peer: its address, C0:B1:BE:00:00:01/random, its name, or the UUID of a service that it advertises.") var peer: String?
    @Flag(help: "Advertise and accept channels.") var listen = false
    @Option(help: "Transport: le or bredr. Over BR/EDR channels are enhanced ones, on an encrypted link.") var transport = SessionTransport
        .le
    @Option(help: "SPSM of the service, 1 to 255 or 0x01 to 0xFF.", transform: Arguments.whole(1...255)) var spsm: UInt16 = 128
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
        transform: Arguments.loopbackPort)
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
    @Flag(help: "Show the octets and the rate once a second, also if the standard error stream is not a terminal.") var progress = false
    @Option(
        help: "With --send and for the echo: timeout in seconds. For pipes: time to wait for the peer to open a channel.",
        transform: Arguments.seconds)
    var seconds: Double?
    @OptionGroup(title: "Security") var protection: ChannelSecurity
    @OptionGroup var firmware: FirmwareOptions

    func validate() throws {
        if listen, peer != nil { throw ValidationError("--listen and --peer exclude each other: wait for a peer, or connect to one") }
        if !send.isEmpty, peer == nil { throw ValidationError("--send needs --peer") }
        if tcpListen != nil, peer == nil { throw ValidationError("--tcp-listen needs --peer: each TCP connection opens a channel to it") }
        if tcp != nil, !listen { throw ValidationError("--tcp needs --listen: each channel that a peer opens becomes a TCP connection") }
        if tcp != nil || tcpListen != nil, channels > 1 || enhanced != nil {
            throw ValidationError(
                "--channels and --enhanced cannot be used with --tcp or --tcp-listen: each TCP connection has one channel")
        }
        if enhanced != nil, channels > 1 {
            throw ValidationError("--channels and --enhanced exclude each other: each is the number of channels")
        }
        try protection.check(isListening: listen, hasPeer: peer != nil, transport)
        try checkTransport()
        if published, peer == nil, !listen { throw ValidationError("--published needs --peer or --listen") }
    }

    private func checkTransport() throws {
        guard transport == .bredr else { return }
        if let option = ["--interval", "--phy", "--published"].first(where: Arguments.given) {
            throw ValidationError("\(option) needs --transport le")
        }
        if !listen, peer == nil { throw ValidationError("--transport bredr needs --peer or --listen: the built-in echo runs over LE") }
    }

    func run() throws {
        var command = self
        if protection.pair, transport == .le { command.protection.key.passkey = try protection.key.value() }
        try command.execute()
    }

    private func execute() throws {
        let command = self
        let selector = try peer.map { try transport.peer($0) }
        let plan = try plan()
        let sdus = try send.map {
            guard let octets = Hex.parse($0) else { throw CommandFailure(.usage, "--send takes octets in hexadecimal, not '\($0)'") }
            return octets
        }
        let database = GATTDatabase(deviceName: "bluebench")
        if published, listen {
            database.add(ServiceDefinition(L2CAPService.uuid, characteristics: [.publishing(spsm)]))
        }
        let serve = { (_: RunLoop) in database }
        let bonds = peer == nil && !listen ? nil : try protection.bonds(for: device)
        let prepare: (Host) -> Void = {
            plan.protection.prepare($0, bonds?.keys, isCentral: command.peer != nil, isPublic: command.transport == .bredr)
        }
        try HostSession.run(on: device, firmware: firmware, database: serve, prepare: prepare) { host in
            if command.transport == .bredr { try PublicAddress.check(host, chosen: bonds?.keys.identityAddress) }
            if command.protection.pair { try host.keys.keepIdentity(host.address) }
            let session = L2CAPSession(plan, on: Terminal(on: host.loop))
            guard let selector else { return try await command.listen ? session.accept(host) : session.echo(host) }
            let address = try await selector.found(by: host)
            if sdus.isEmpty { try await session.connect(host, to: address) } else { try await session.exchange(sdus, with: address, host) }
        }
    }

    private func plan() throws -> L2CAPPlan {
        var plan = L2CAPPlan()
        (plan.transport, plan.spsm, plan.published, plan.channels, plan.enhanced) = (transport, spsm, published, channels, enhanced)
        (plan.tcpListen, plan.tcp, plan.settings, plan.interval) = (tcpListen, tcp, settings, interval)
        plan.phys = try phy.map(Arguments.phys)
        (plan.keepsOpen, plan.showsProgress, plan.seconds) = (keepOpen, progress, seconds)
        plan.protection = try protection.protection(over: transport)
        return plan
    }

    private var isPipe: Bool { listen || peer != nil && send.isEmpty }

    private var settings: CreditBasedChannelSettings {
        CreditBasedChannelSettings(mtu: mtu ?? (isPipe ? 1_974 : 512), mps: mps, initialCredits: credits ?? (isPipe ? 64 : 10))
    }
}

/// The service that publishes an SPSM for `bluebench l2cap --listen --published`.
enum L2CAPService {
    static let uuid = BluetoothUUID(long: 0xB1BE_0300_7E57_4ACC_9D3A_0B5E_55ED_0001)
}
