import ArgumentParser
import BBHost
import BBPackets
import BBSessions

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
    func check(isListening: Bool, hasPeer: Bool, _ transport: SessionTransport) throws {
        if key.isGiven, !pair { throw ValidationError("--passkey needs --pair") }
        if key.isGiven, transport == .bredr {
            throw ValidationError(
                "--passkey needs --transport le: over BR/EDR each pairing has a new passkey, for which `bluebench pair --transport bredr` asks"
            )
        }
        guard isListening || hasPeer else {
            if let option = Self.given { throw ValidationError("\(option) needs --peer or --listen") }
            return
        }
        if hasPeer, minKeySize != nil { throw ValidationError("--min-key-size needs --listen") }
        if hasPeer, !allow.isEmpty { throw ValidationError("--allow needs --listen") }
    }

    private static var given: String? { optionNames.first(where: Arguments.given) }

    /// The bonds; nil if none are used, or if none have been made and none will be.
    func bonds(for device: String) throws -> BondFile? { try store.open(makes: pair, for: device) }

    /// The protection for a session.
    func protection(over transport: SessionTransport) throws -> ChannelProtection {
        var protection = ChannelProtection()
        (protection.level, protection.pairs, protection.passkey, protection.minKeySize) = (security.value, pair, key.passkey, minKeySize)
        if !allow.isEmpty { protection.allowed = Set(try allow.map { try transport.address($0) }) }
        return protection
    }
}
