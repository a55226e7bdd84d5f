import ArgumentParser
import HCI
import Host
import Packets
import Timing

/// `bluebench pair`: pairs with a peer, in either role.
struct PairCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pair", abstract: "Pair with a peer that advertises, or advertise and let a peer pair; the bond is kept.",
        discussion: """
            What is to be shown or asked comes at the terminal: a passkey of six digits, or whether both sides show the same number. With \
            --accept and --passkey nobody needs to be there. A peer that there is a bond with is not paired again: the link is encrypted with \
            the bond's key, unless --again is given. With --transport bredr the peer is paged, or the bench lets itself be found under \
            the name and waits; with --legacy there is no Secure Connections, with --pin no Secure Simple Pairing either. Exit code 1 when the peer refuses, or what comes of it would be less than was asked for.
            """)

    @Argument(help: "The device: usb:VID:PID[/serial], usb:<bus>-<port>, tcp:host:port, unix:path or serial:path.") var device: String
    @Option(help: "The peer: its address, C0:B1:BE:00:00:01/random, or over LE its name or the UUID of a service that it advertises.")
    var peer: String?
    @Option(help: ArgumentHelp("Advertise under this name and wait for a peer.", valueName: "name")) var advertise: String?
    @Flag(help: "With --advertise: ask the peer to pair, by a Security Request.") var request = false
    @Option(help: "What this side can show and ask: none, display, display-yes-no, keyboard or keyboard-display.") var io =
        "keyboard-display"
    @Flag(inversion: .prefixedNo, help: "Keep the keys.") var bond = true
    @Flag(inversion: .prefixedNo, help: "Ask for protection against a man in the middle.") var mitm = true
    @Flag(help: "LE legacy pairing.") var legacy = false
    @Flag(name: .customLong("secure-connections-only"), help: "LE Secure Connections with an authenticated key, or nothing.")
    var secureConnectionsOnly = false
    @Option(help: "Pair only with keys of at least so many octets.", transform: Arguments.whole(7...16)) var minKeySize = 7
    @Option(help: "Offer keys of at most so many octets.", transform: Arguments.whole(7...16)) var maxKeySize = 16
    @Option(help: ArgumentHelp("The peer's out-of-band data (docs/guide/bonds.md).", valueName: "file"), completion: .file()) var oob:
        String?
    @Option(help: ArgumentHelp("Write this side's data out of band for the peer.", valueName: "file"), completion: .file()) var oobOwn:
        String?
    @Flag(name: .customLong("private"), help: "Go by resolvable private addresses, which only bonded peers know.") var isPrivate = false
    @Flag(help: "Give signing keys, too, and ask for the peer's.") var signing = false
    @Flag(help: "Go by the public address, and have the pairing leave a link key for BR/EDR, too.") var bredr = false
    @Option(help: "Pair over le, or over bredr; keys of LE follow from the latter where both sides want them.") var transport =
        LinkTransport.le
    @Option(help: ArgumentHelp("Over BR/EDR: the PIN for a peer without Secure Simple Pairing.", valueName: "digits")) var pin: String?
    @Flag(help: "Agree to every question.") var accept = false
    @Option(help: "The passkey to show and to enter, 0...999999.", transform: Arguments.whole(0...999_999)) var passkey: UInt32?
    @Flag(help: "Pair anew with a peer that there is a bond with.") var again = false
    @Flag(help: "Let a pairing take the place of a bond that is worth more.") var acceptWeaker = false
    @Option(help: "How long to wait, in seconds.", transform: Arguments.seconds) var seconds = 60.0
    @Flag(help: "Print a line of JSON for each event.") var json = false
    @OptionGroup var store: BondOptions
    @OptionGroup var firmware: FirmwareOptions

    func run() throws {
        guard (peer == nil) != (advertise == nil) else {
            throw CommandFailure(.usage, "missing peer: give --peer ADDRESS or NAME (central), or --advertise NAME (peripheral)")
        }
        guard peer == nil || !request else {
            throw CommandFailure(.usage, "a Security Request comes from a device that advertises: --advertise")
        }
        let selector = try peer.map { try transport.peer($0) }
        try checkTransport()
        let settings = try pairingSettings()
        var paths = OutputPaths()
        for (option, path) in [("--oob", oob), ("--bonds", store.path), ("--oob-own", oobOwn)] { try paths.add(option, path) }
        let ownData = try oobOwn.map { try OutputFile($0, isSecret: true) }
        let file = try store.open(makes: bond)
        let keys = file?.keys ?? KeyStore()
        let command = self
        let prepare = { (host: Host) in
            host.keys = keys
            host.addressChoice =
                keys.identityAddress.map { .fixed($0) } ?? (command.bredr || command.transport == .bredr ? .automatic : .drawn)
        }
        try HostSession.run(on: device, firmware: firmware, named: advertise ?? "bluebench", prepare: prepare) { host in
            if command.bredr { try PublicAddress.check(host, chosen: keys.identityAddress) }
            keys.identityAddress = host.address
            if command.isPrivate { try await host.enablePrivacy() }
            let user = PairUser(command, on: host.loop)
            host.pairingSettings = settings
            if let ownData { try ownData.write(try await command.ownPairingData(of: host).text) }
            host.pairingDialogue = user.dialogue()
            try await user.report { () async throws -> PairEvent in
                if command.transport == .bredr {
                    let peer = selector?.address?.bdADDR
                    return try await ClassicPairSession(host, settings: settings, command: command, peer: peer, user: user).run()
                }
                let peer = try await selector?.found(by: host)
                return try await PairSession(host, settings: settings, command: command, peer: peer, user: user).run()
            }
            try file?.check()
        }
    }

    /// Rejects options that are not for the transport.
    private func checkTransport() throws {
        guard transport == .bredr else {
            guard pin == nil else { throw CommandFailure(.usage, "a PIN is of BR/EDR: --transport bredr") }
            return
        }
        guard !bredr, !isPrivate, !request else {
            throw CommandFailure(.usage, "--bredr, --private and --request are about pairing over LE")
        }
        guard pin == nil || oob == nil && oobOwn == nil else {
            throw CommandFailure(.usage, "--pin goes without Secure Simple Pairing, and so without --oob and --oob-own")
        }
        guard pin.map({ (1...16).contains($0.utf8.count) }) ?? true else { throw CommandFailure(.usage, "a PIN has 1 to 16 octets") }
    }

    private func ownPairingData(of host: Host) async throws -> PairingData {
        transport == .bredr ? PairingData(try await host.makeClassicOutOfBandData()) : PairingData(host.makeOutOfBandData())
    }

    private func pairingSettings() throws -> PairingSettings {
        let capabilities: [String: IOCapability] = [
            "none": .noInputNoOutput, "display": .displayOnly, "display-yes-no": .displayYesNo, "keyboard": .keyboardOnly,
            "keyboard-display": .keyboardDisplay,
        ]
        guard let capability = capabilities[io] else {
            throw CommandFailure(.usage, "'\(io)': --io is none, display, display-yes-no, keyboard or keyboard-display")
        }
        guard !legacy || !secureConnectionsOnly else {
            throw CommandFailure(.usage, "--legacy and --secure-connections-only exclude each other")
        }
        guard !legacy || !bredr else { throw CommandFailure(.usage, "LE legacy pairing makes no key for BR/EDR") }
        guard minKeySize <= maxKeySize else { throw CommandFailure(.usage, "--min-key-size is more than --max-key-size") }
        var settings = PairingSettings()
        settings.ioCapability = capability
        settings.isBonding = bond
        settings.asksForMITM = mitm
        settings.supportsSecureConnections = !legacy
        if secureConnectionsOnly { settings.isSecureConnectionsOnly = true }
        settings.minimumKeySize = minKeySize
        settings.maximumKeySize = maxKeySize
        settings.passkey = passkey
        settings.acceptsWeakerBond = acceptWeaker
        if signing {
            settings.localKeys.insert(.signKey)
            settings.peerKeys.insert(.signKey)
        }
        if bredr {
            settings.localKeys.insert(.linkKey)
            settings.peerKeys.insert(.linkKey)
            settings.supportsH7 = true
        }
        settings.pin = pin.map { [UInt8]($0.utf8) }
        if transport == .bredr {
            settings.supportsSimplePairing = pin == nil
            settings.supportsH7 = true
        }
        let given = try oob.map { try PairingData(file: $0, for: transport) }
        settings.outOfBandData = given?.data
        settings.classicOutOfBandData = given?.classicData
        return settings
    }
}
