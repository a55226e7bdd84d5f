import BBPackets
import BBTiming

/// Progress of an LE connection that sets up profiles on BR/EDR.
public enum BridgeStep: Sendable, Hashable {
    /// Connected on LE.
    case connected(PeerIdentity)
    case paired(PairingResult)
    /// The LE link is encrypted with the key of an existing bond.
    case encrypted
    /// There is a BR/EDR link key of this type.
    case hasLinkKey(LinkKeyType)
    /// Connected on BR/EDR.
    case paged(BDADDR)
    /// The BR/EDR link is authenticated and encrypted with the link key.
    case secured(SecurityMode4Level)
    /// The link is encrypted with E0 although its key is from Secure Connections.
    case downgraded
    case profile(ProfileStep)
}

/// Result of `connect(to:bridging:)`.
public struct Bridge {
    public let connection: Connection
    public let classic: ClassicConnection
    public var profiles: ProfileSession { classic.profiles }
    /// Profiles that the peer lacks or that have failed.
    public let failures: [ProfileStep]
}

/// One pairing for both transports: LE first, then BR/EDR with the derived key. Core Vol 3, Part C, 14.
extension Host {
    /// Pairing settings that yield a link key: LE Secure Connections, and LinkKey in both key distributions. Core Vol 3, Part H, 2.4.2.4.
    public var bridgingSettings: PairingSettings {
        var settings = pairingSettings ?? PairingSettings()
        settings.supportsSecureConnections = true
        settings.supportsH7 = true
        settings.localKeys.insert(.linkKey)
        settings.peerKeys.insert(.linkKey)
        return settings
    }

    /// Connects and pairs on LE, then connects on BR/EDR, where the derived key authenticates and encrypts the link without further user
    /// interaction, and sets up profiles.
    ///
    /// - Parameters:
    ///   - peer: a device with a public address, which is also its BD_ADDR, or one that distributes it in pairing.
    ///   - step: called for each step.
    /// - Throws: `HostError.peer(.noLinkKey)` if the pairing yields no link key, and the errors of each procedure.
    public func connect(
        to peer: DeviceAddress, bridging profiles: [ClassicProfile], _ settings: ConnectSettings = ConnectSettings(),
        step: @escaping (BridgeStep) -> Void = { _ in }
    ) async throws -> Bridge {
        let link = try await connectAnswered(to: peer, settings)
        step(.connected(link.peer))
        let quirks = context.quirks.pairing
        let early = quirks.pagesFirst ? try await connectClassic(to: peer.bdADDR) : nil
        let isBonded = link.bond?.linkKey != nil && link.bond?.peerLongTermKey != nil
        let bond = try await bridgingBond(of: link, isBonded: isBonded, step)
        guard let key = bond.linkKey, bond.identity.kind == .public else { throw HostError.peer(.noLinkKey(.noPublicIdentity)) }
        step(.hasLinkKey(key.type))
        let paged = early == nil ? try await page(bond.identity.bdADDR) : early
        guard let classic = paged else { throw HostError.misuse(.notConnected) }
        step(.paged(classic.address))
        if quirks.pairsTwice { try await classic.pair(bridgingSettings) }
        do {
            try await secure(classic, to: key.bestLevel, isNew: !isBonded)
        } catch {
            if classic.isDowngraded { step(.downgraded) }
            throw error
        }
        step(.secured(classic.securityLevel))
        if classic.isDowngraded { step(.downgraded) }
        let token = classic.profiles.steps.add { step(.profile($0)) }
        defer { classic.profiles.steps.remove(token) }
        return Bridge(connection: link, classic: classic, failures: try await classic.profiles.connect(profiles))
    }

    /// Pages a peer that is connected over LE, so it is near: a page that lost packets or scan windows is repeated once.
    private func page(_ peer: BDADDR) async throws -> ClassicConnection {
        do {
            return try await connectClassic(to: peer)
        } catch HostError.peer(.rejected(_, .pageTimeout)) {
            return try await connectClassic(to: peer)
        }
    }

    /// The bond with the link key, by the identity address that the peer distributed; its address on the air may differ.
    private func bridgingBond(of link: Connection, isBonded: Bool, _ step: (BridgeStep) -> Void) async throws -> Bond {
        guard !isBonded else {
            try await link.encrypt()
            step(.encrypted)
            guard let bond = link.bond else { throw HostError.misuse(.noKey) }
            return bond
        }
        let result = try await link.pair(bridgingSettings)
        step(.paired(result))
        guard let bond = keys[result.peer], bond.linkKey != nil else {
            throw HostError.peer(.noLinkKey(result.linkKeyImpediment ?? .weaker))
        }
        return bond
    }

    /// Secures the link. If the key is new, the peer's host may not have stored it yet, so attempts are repeated for one second.
    private func secure(_ link: ClassicConnection, to level: SecurityMode4Level, isNew: Bool) async throws {
        let end = loop.now + .seconds(isNew ? 1 : 0)
        while true {
            do { return try await link.secure(to: level) } catch HostError.peer(.rejected(_, .pinOrKeyMissing)) where loop.now < end {
                try await loop.sleep(for: .milliseconds(100))
            }
        }
    }

    /// Accepts peers that pair on LE, connect on BR/EDR and set up profiles: advertises, accepts BR/EDR connections, and pairs with
    /// settings that yield a link key.
    ///
    /// - Parameters:
    ///   - name: advertised name.
    ///   - started: as in `offerProfiles`.
    @discardableResult
    public func acceptBridging(
        _ profiles: Set<ClassicProfile>, as role: ClassicProfiles.Role = .accessory, named name: String,
        started: @escaping (ProfileSession) -> Void = { _ in }
    ) async throws -> AdvertisingSet {
        pairingSettings = bridgingSettings
        try offerProfiles(profiles, as: role, started: started)
        offerAttributesOverClassic()
        try await setScan(isDiscoverable: false, isConnectable: true)
        return try await advertise(AdvertisingSettings(data: AdvertisingData([.flags(.generalDiscoverable), .completeLocalName(name)])))
    }
}
