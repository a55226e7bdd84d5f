import ArgumentParser
import BBHCI
import BBHost
import BBPackets
import BBSessions
import BBTiming

/// `bluebench pair`: pairs with a peer, in either role.
struct PairCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pair", abstract: "Pair with an advertising peer, or advertise and let a peer pair; keep the bond.",
        discussion: """
            Passkeys and numeric comparison use the terminal; --accept and --passkey answer for a user. With a bonded peer the link is encrypted with the \
            bond's key, unless --again is given. With --transport bredr the peer is paged, or the device is discoverable under the name of --advertise. \
            Exit code 1 when the peer refuses, or the bond would have less security than requested.
            """)

    @Argument(help: .device) var device: String
    @OptionGroup(title: "Peer") var ends: PairEnds
    @OptionGroup(title: "Security") var security: SecurityOptions
    @OptionGroup(title: "User") var user: UserOptions
    @OptionGroup(title: "Out of band") var outOfBand: OutOfBandOptions
    @OptionGroup(title: "Bonds") var bonds: PairBondOptions
    @OptionGroup(title: "Dongles on USB") var firmware: FirmwareOptions
    @Flag(help: "Print one line of JSON for each event.") var json = false

    func run() throws {
        var command = self
        // Over BR/EDR each pairing has a new passkey: one in the variable is for LE.
        if ends.transport == .le || user.key.isGiven { command.user.key.passkey = try user.key.value() }
        command.security.pin = try security.givenPIN()
        try command.execute()
    }

    private func execute() throws {
        guard (ends.peer == nil) != (ends.advertise == nil) else {
            throw CommandFailure(.usage, "missing peer: give --peer ADDRESS or NAME (central), or --advertise NAME (peripheral)")
        }
        guard ends.peer == nil || !ends.request else {
            throw CommandFailure(.usage, "--request needs --advertise: only an advertising device (peripheral) sends a Security Request")
        }
        let selector = try ends.peer.map { try ends.transport.peer($0) }
        try checkTransport()
        let settings = try pairingSettings()
        var paths = OutputPaths()
        let bondPath = try bonds.store.path(for: device)
        try paths.add(BondOptions.optionNames.map { ($0, bondPath) } + outOfBand.texts)
        let ownData = try outOfBand.oobOwn.map { try OutputFile($0, isSecret: true) }
        let file = try bonds.store.open(makes: bonds.bond, for: device)
        let keys = file?.keys ?? KeyStore()
        let command = self
        let prepare = { (host: Host) in
            host.keys = keys
            host.addressChoice =
                keys.identityAddress.map { .fixed($0) }
                ?? (command.security.bredr || command.ends.transport == .bredr ? .automatic : .drawn)
        }
        try HostSession.run(on: device, firmware: firmware, named: ends.advertise ?? "bluebench", prepare: prepare) { host in
            if command.security.bredr { try PublicAddress.check(host, chosen: keys.identityAddress) }
            try keys.keepIdentity(host.address)
            if command.ends.isPrivate { try await host.enablePrivacy() }
            let user = PairUser(command.plan, on: Terminal(on: host.loop))
            host.pairingSettings = settings
            if let ownData { try ownData.write(try await command.ownPairingData(of: host).text) }
            host.pairingDialogue = user.dialogue()
            try await user.report { () async throws -> PairEvent in
                let peer = try await selector?.found(by: host)
                return try await PairSession(host, settings: settings, plan: command.plan, peer: peer, user: user).run()
            }
            try file?.check()
        }
    }

    private var plan: PairPlan {
        var plan = PairPlan()
        (plan.transport, plan.advertised, plan.requests) = (ends.transport, ends.advertise, ends.request)
        (plan.pairsAgain, plan.seconds, plan.isJSON) = (bonds.again, ends.seconds, json)
        (plan.accepts, plan.passkey) = (user.accept, user.key.passkey)
        return plan
    }

    /// Rejects options that are not for the transport.
    private func checkTransport() throws {
        guard ends.transport == .bredr else {
            guard security.pin == nil else { throw CommandFailure(.usage, "--pin needs --transport bredr") }
            return
        }
        guard !security.bredr, !ends.isPrivate, !ends.request else {
            throw CommandFailure(.usage, "--bredr, --private and --request need --transport le")
        }
        guard security.pin == nil || outOfBand.oob == nil && outOfBand.oobOwn == nil else {
            throw CommandFailure(.usage, "--pin excludes --oob and --oob-own: a PIN is used without Secure Simple Pairing")
        }
        guard security.pin.map({ (1...16).contains($0.utf8.count) }) ?? true else {
            throw CommandFailure(.usage, "--pin takes 1 to 16 octets")
        }
    }

    private func ownPairingData(of host: Host) async throws -> PairingData {
        ends.transport == .bredr ? PairingData(try await host.makeClassicOutOfBandData()) : PairingData(host.makeOutOfBandData())
    }

    private func pairingSettings() throws -> PairingSettings {
        guard !security.legacy || !security.secureConnectionsOnly else {
            throw CommandFailure(.usage, "--legacy and --secure-connections-only exclude each other")
        }
        guard !security.legacy || !security.bredr else {
            throw CommandFailure(.usage, "--legacy and --bredr exclude each other: LE legacy pairing makes no key for BR/EDR")
        }
        guard security.minKeySize <= security.maxKeySize else { throw CommandFailure(.usage, "--min-key-size is more than --max-key-size") }
        var settings = PairingSettings()
        settings.ioCapability = user.io.value
        settings.isBonding = bonds.bond
        settings.asksForMITM = security.mitm
        settings.supportsSecureConnections = !security.legacy
        if security.secureConnectionsOnly { settings.isSecureConnectionsOnly = true }
        settings.minimumKeySize = security.minKeySize
        settings.maximumKeySize = security.maxKeySize
        settings.passkey = user.key.passkey
        settings.acceptsWeakerBond = bonds.acceptWeaker
        if security.signing {
            settings.localKeys.insert(.signKey)
            settings.peerKeys.insert(.signKey)
        }
        if security.bredr {
            settings.localKeys.insert(.linkKey)
            settings.peerKeys.insert(.linkKey)
            settings.supportsH7 = true
        }
        settings.pin = security.pin.map { [UInt8]($0.utf8) }
        if ends.transport == .bredr {
            settings.supportsSimplePairing = security.pin == nil
            settings.supportsH7 = true
        }
        let given = try outOfBand.oob.map { try PairingData(file: $0, for: ends.transport) }
        settings.outOfBandData = given?.data
        settings.classicOutOfBandData = given?.classicData
        return settings
    }
}
