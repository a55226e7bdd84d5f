import ArgumentParser
import BBHost
import BBPackets

/// The security of a link with channels, at either end.
struct ChannelSecurity: ParsableArguments {
    enum Level: String, ExpressibleByArgument, CaseIterable {
        case none, encrypted, authenticated
        case secureConnections = "secure-connections"

        var value: LinkSecurity {
            switch self {
            case .none: .none
            case .encrypted: .encrypted
            case .authenticated: .authenticated
            case .secureConnections: .secureConnections
            }
        }
    }

    @Option(help: "With --listen: the level that a channel needs. With --peer: the level of the link before a channel is opened.")
    var security = Level.none
    @Flag(help: "With --peer: pair with a peer that has no bond. With --listen: let peers pair.") var pair = false
    @OptionGroup var key: PasskeyOptions
    @Option(help: "With --listen: the encryption key size that a channel needs, in octets.", transform: Arguments.whole(7...16))
    var minKeySize: Int?
    @Option(
        help: ArgumentHelp(
            "With --listen: a device whose channels are accepted; others are not authorized. Repeatable.", valueName: "address"))
    var allow: [String] = []
    @OptionGroup var store: BondOptions

    /// - Throws: `ValidationError` for options that would change nothing.
    func check(isListening: Bool, hasPeer: Bool, _ transport: TransportOption) throws {
        if key.isGiven, !pair { throw ValidationError("--passkey is for --pair") }
        if key.isGiven, transport == .bredr {
            throw ValidationError("over BR/EDR a passkey is a new one in each pairing: `bluebench pair --transport bredr` asks for it")
        }
        guard isListening || hasPeer else {
            if let option = Self.given { throw ValidationError("\(option) needs --peer or --listen") }
            return
        }
        if hasPeer, minKeySize != nil { throw ValidationError("--min-key-size is for --listen") }
        if hasPeer, !allow.isEmpty { throw ValidationError("--allow is for --listen") }
    }

    private static var given: String? { optionNames.first(where: Arguments.given) }

    // MARK: Host

    /// The bonds; nil if none are used, or if none have been made and none will be.
    func bonds(for device: String) throws -> BondFile? { try store.open(makes: pair, for: device) }

    /// Gives a host that is not started yet its bonds, and the answers of a pairing.
    func prepare(_ host: Host, _ file: BondFile?, isCentral: Bool, isPublic: Bool) {
        if let keys = file?.keys { host.keys = keys }
        host.addressChoice = file?.keys.identityAddress.map { .fixed($0) } ?? (isPublic ? .automatic : .drawn)
        guard pair else { return }
        let passkey = key.passkey
        var settings = PairingSettings()
        settings.minimumLevel = max(.encrypted, security.value)
        settings.minimumKeySize = minKeySize ?? settings.minimumKeySize
        settings.passkey = passkey
        // With these two capabilities the passkey is entered at one side, whoever begins.
        if passkey != nil { (settings.ioCapability, settings.asksForMITM) = (isCentral ? .keyboardOnly : .displayOnly, true) }
        host.pairingSettings = settings
        host.pairingDialogue = .unattended(accepts: true, passkey: passkey)
    }

    // MARK: Links

    /// Encrypts the link with the key of the bond, or pairs.
    func apply(to link: PeerLink) async throws {
        do {
            switch link {
            case .le(let link): try await apply(to: link)
            case .classic(let link): try await apply(to: link)
            }
        } catch let failure as CommandFailure { throw failure } catch { throw PairAdvice.failure(error) }
    }

    private func apply(to link: Connection) async throws {
        let level = max(security.value, pair ? .encrypted : .none)
        if pair {
            try await link.secure(to: level)
        } else if link.bond?.peerLongTermKey != nil {
            try await link.encrypt()
        }
        guard link.security >= level else { throw missing(link.peer, isBonded: link.bond != nil) }
        if link.security > .none { Self.tell(link.security, link.encryptionKeySize) }
    }

    private func apply(to link: ClassicConnection) async throws {
        guard pair || link.bond?.linkKey != nil else { throw missing(link.peer, isBonded: false) }
        let level: SecurityMode4Level =
            switch security {
            case .none, .encrypted: .unauthenticated
            case .authenticated: .authenticated
            case .secureConnections: .secureConnections
            }
        try await link.secure(to: level)
        Self.tell(link.linkSecurity, link.encryptionKeySize)
    }

    private func missing(_ peer: PeerIdentity, isBonded: Bool) -> CommandFailure {
        let state =
            isBonded
            ? "the key of the bond with \(peer.address.argument) has a lower level" : "there is no bond with \(peer.address.argument)"
        return CommandFailure(.fail, "\(state): --pair makes a new one")
    }

    private static func tell(_ level: LinkSecurity, _ keySize: Int) {
        Console.complain("encrypted: level \(level.name), a key of \(keySize) octets")
    }

    /// Settings of a listening service.
    func applied(to settings: CreditBasedChannelSettings) -> CreditBasedChannelSettings {
        var settings = settings
        settings.minimumSecurity = minKeySize == nil ? security.value : max(.encrypted, security.value)
        settings.minimumKeySize = minKeySize ?? 0
        return settings
    }

    /// Addresses of the devices that may open channels; nil for all.
    func allowed(over transport: TransportOption) throws -> Set<DeviceAddress>? {
        allow.isEmpty ? nil : Set(try allow.map { try transport.address($0) })
    }

    // MARK: Refusals

    /// Opens channels, and explains a refusal.
    static func opening<Opened>(_ open: () async throws -> Opened) async throws -> Opened {
        do { return try await open() } catch HostError.peer(.channel(.creditBasedRefused(let result))) {
            throw CommandFailure(.fail, "\(HostError.peer(.channel(.creditBasedRefused(result))))\(advice(result))")
        }
    }

    private static func advice(_ result: CreditBasedConnectionResult) -> String {
        switch result {
        case .refusedInsufficientAuthentication:
            "; the channel needs a bond of a higher level: --pair, --security authenticated --passkey N"
        case .refusedInsufficientEncryption: "; the channel needs an encrypted link: --pair, or --bonds with the key of the peer"
        case .refusedEncryptionKeySizeTooShort: "; the channel needs a longer key: make a new bond with `bluebench pair --again`"
        case .refusedInsufficientAuthorization: "; the peer does not authorize this device (with `l2cap --listen`: --allow)"
        case .refusedNoResources: "; the peer has as many channels as it takes"
        case .refusedSPSMNotSupported: "; the peer has no such service: --spsm, or --published for the one that it publishes"
        default: ""
        }
    }
}
