import Packets
import Timing

/// How far a connection over LE that brings up profiles over BR/EDR is.
public enum BridgeStep: Sendable, Hashable {
    /// Connected over LE.
    case connected(PeerIdentity)
    case paired(PairingResult)
    /// There was a bond, and the LE link is encrypted with its key.
    case encrypted
    /// There is a link key of that worth for BR/EDR.
    case hasLinkKey(LinkKeyType)
    /// Connected over BR/EDR.
    case paged(BDADDR)
    /// The BR/EDR link is authenticated and encrypted with the link key.
    case secured(SecurityMode4Level)
    /// E0 encrypts the link although its key is one of Secure Connections.
    case downgraded
    case profile(ProfileStep)
}

/// What `connect(to:bridging:)` has brought up.
public struct Bridge {
    public let connection: Connection
    public let classic: ClassicConnection
    public var profiles: ProfileSession { classic.profiles }
    /// The profiles that the peer lacks, or that have failed.
    public let failures: [ProfileStep]
}

/// One pairing for both transports: LE first, BR/EDR with the key that comes of it. Core Vol 3, Part C, 14.
extension Host {
    /// How this host pairs so that a link key comes of it: LE Secure Connections, and LinkKey in both key distributions. Core Vol 3, Part H, 2.4.2.4.
    public var bridgingSettings: PairingSettings {
        var settings = pairingSettings ?? PairingSettings()
        settings.supportsSecureConnections = true
        settings.supportsH7 = true
        settings.localKeys.insert(.linkKey)
        settings.peerKeys.insert(.linkKey)
        return settings
    }

    /// Connects over LE and pairs, then over BR/EDR, where the derived key authenticates and encrypts without another question to the user, and
    /// sets up profiles there.
    ///
    /// - Parameters:
    ///   - peer: a device that goes by its public address, which is its address on BR/EDR, or tells it by pairing.
    ///   - step: told of each step.
    /// - Throws: `HostError.peer(.noLinkKey)` if no link key comes of the pairing, and as the procedures of each step.
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
        let paged = early == nil ? try await connectClassic(to: bond.identity.bdADDR) : early
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

    /// The bond that has the link key, by the identity that the peer has told: its address on the air may be another one.
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

    /// With a key that has just been made: the host of the peer may not have stored it yet, and is asked again for a second.
    private func secure(_ link: ClassicConnection, to level: SecurityMode4Level, isNew: Bool) async throws {
        let end = loop.now + .seconds(isNew ? 1 : 0)
        while true {
            do { return try await link.secure(to: level) } catch HostError.peer(.rejected(_, .pinOrKeyMissing)) where loop.now < end {
                try await loop.sleep(for: .milliseconds(100))
            }
        }
    }

    /// Lets a peer that has paired over LE come over BR/EDR and set up profiles: advertises, answers pages, and pairs so that a link key comes of it.
    ///
    /// - Parameters:
    ///   - name: that is advertised.
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
