import BBHost
import BBPackets

/// The security of a link with channels, at either end.
package struct ChannelProtection: Sendable {
    /// With a peer: the level of the link before a channel is opened. While listening: the level that a channel needs.
    package var level = LinkSecurity.none
    /// Pairs with a peer that has no bond, or lets peers pair.
    package var pairs = false
    package var passkey: UInt32?
    /// The encryption key size that a channel needs, in octets.
    package var minKeySize: Int?
    /// Devices that may open channels; nil for all.
    package var allowed: Set<DeviceAddress>?

    package init() {}

    // MARK: Host

    /// Gives a host that is not started yet its bonds, and the answers of a pairing.
    package func prepare(_ host: Host, _ bonds: KeyStore?, isCentral: Bool, isPublic: Bool) {
        if let bonds { host.keys = bonds }
        host.addressChoice = bonds?.identityAddress.map { .fixed($0) } ?? (isPublic ? .automatic : .drawn)
        guard pairs else { return }
        var settings = PairingSettings()
        settings.minimumLevel = max(.encrypted, level)
        settings.minimumKeySize = minKeySize ?? settings.minimumKeySize
        settings.passkey = passkey
        // With these two capabilities the passkey is entered at one side, whoever begins.
        if passkey != nil { (settings.ioCapability, settings.asksForMITM) = (isCentral ? .keyboardOnly : .displayOnly, true) }
        host.pairingSettings = settings
        host.pairingDialogue = .unattended(accepts: true, passkey: passkey)
    }

    // MARK: Links

    /// Encrypts the link with the key of the bond, or pairs.
    func apply(to link: PeerLink, on screen: any Screen) async throws {
        do {
            switch link {
            case .le(let link): try await apply(to: link, on: screen)
            case .classic(let link): try await apply(to: link, on: screen)
            }
        } catch let failure as CommandFailure { throw failure } catch { throw PairAdvice.failure(error) }
    }

    private func apply(to link: Connection, on screen: any Screen) async throws {
        let level = max(level, pairs ? .encrypted : .none)
        if pairs {
            try await link.secure(to: level)
        } else if link.bond?.peerLongTermKey != nil {
            try await link.encrypt()
        }
        guard link.security >= level else { throw missing(link.peer, isBonded: link.bond != nil) }
        if link.security > .none { Self.tell(link.security, link.encryptionKeySize, on: screen) }
    }

    private func apply(to link: ClassicConnection, on screen: any Screen) async throws {
        guard pairs || link.bond?.linkKey != nil else { throw missing(link.peer, isBonded: false) }
        let level: SecurityMode4Level =
            switch self.level {
            case .none, .encrypted: .unauthenticated
            case .authenticated: .authenticated
            case .secureConnections: .secureConnections
            }
        try await link.secure(to: level)
        Self.tell(link.linkSecurity, link.encryptionKeySize, on: screen)
    }

    private func missing(_ peer: PeerIdentity, isBonded: Bool) -> CommandFailure {
        let state =
            isBonded
            ? "the key of the bond with \(peer.address.argument) has a lower level" : "there is no bond with \(peer.address.argument)"
        return CommandFailure(.fail, "\(state): --pair makes a new one")
    }

    private static func tell(_ level: LinkSecurity, _ keySize: Int, on screen: any Screen) {
        screen.complain("encrypted: level \(level.name), a key of \(keySize) octets")
    }

    /// Settings of a listening service.
    func applied(to settings: CreditBasedChannelSettings) -> CreditBasedChannelSettings {
        var settings = settings
        settings.minimumSecurity = minKeySize == nil ? level : max(.encrypted, level)
        settings.minimumKeySize = minKeySize ?? 0
        return settings
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
