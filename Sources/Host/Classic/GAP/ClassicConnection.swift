import BBHCI
import BBPackets
import BBTiming

/// An event on a BR/EDR connection that was not requested locally.
public enum ClassicConnectionEvent: Sendable, Equatable {
    /// The link was encrypted or its key refreshed; it now has this level.
    case secured(SecurityMode4Level)
    /// A pairing requested by either device is complete, and the link is encrypted with the new key.
    case paired(PairingResult)
    case pairingFailed(HostError)
    /// LE keys were derived from the BR/EDR link key.
    case derived(PairingResult)
    case derivationFailed(HostError)
    case disconnected(ErrorCode)
}

/// A BR/EDR connection and its channels.
public final class ClassicConnection: ACLLink {
    public let address: BDADDR
    /// True if this device paged; roles may have been switched since.
    public let isInitiator: Bool
    /// True if this device is the central of the piconet, whichever device paged. Core Vol 4, Part E, 7.7.18.
    public internal(set) var isCentral: Bool
    /// Called for events that were not requested locally.
    public let events = Listeners<(ClassicConnectionEvent) -> Void>()
    let channels: ClassicChannels
    let creditBased: CreditBasedChannels
    let security: ClassicSecurity
    /// Protocols and profiles of this host on the channels.
    private(set) lazy var layers = ClassicLayers(self)
    let keyDerivation: KeyDerivationChannel
    /// Channel requests of the peer, held until the encryption of the link is known.
    private var undecided: [(cid: UInt16, psm: UInt16)] = []
    private var undecidedCreditBased: [(identifier: UInt8, spsm: UInt16, count: Int)] = []
    /// The peer's request for the ATT bearer was refused, since this side has sent its own.
    var hasCollided = false

    init(_ handle: ConnectionHandle, peer: BDADDR, isInitiator: Bool, host: Host, slot: Int) {
        address = peer
        self.isInitiator = isInitiator
        isCentral = isInitiator
        let multiplexer = L2CAPMultiplexer(handle: handle, slot: slot, context: host.context)
        channels = ClassicChannels(on: multiplexer, loop: host.loop)
        creditBased = CreditBasedChannels(channels, multiplexer, loop: host.loop)
        security = ClassicSecurity(handle, of: peer, host: host)
        keyDerivation = KeyDerivationChannel(on: multiplexer.channel(CID.bredrSMP), host: host)
        super.init(multiplexer, to: PeerIdentity(DeviceAddress(peer, kind: .public)), host: host)
        security.connection = self
        keyDerivation.connection = self
        security.settled = { [unowned self] in settled() }
        channels.admits = { [unowned self] in admit($0, $1) }
        channels.admitsCreditBased = { [unowned self] in admitCreditBased($0, $1, count: $2) }
        creditBased.arrived = { [unowned self] in host.context.classicCreditServices[$0.spsm]?.opened($0, .classic(self)) }
        channels.arrived = { [unowned self] in host.context.classicServices[$0.terms.psm]?.opened($0, self) }
    }

    public var securityLevel: SecurityMode4Level { security.machine.level }
    /// Encryption key size in octets, 7...16; 0 if not encrypted. Core Vol 4, Part E, 7.5.7.
    public var encryptionKeySize: Int { security.machine.encryption?.keySize ?? 0 }
    /// The corresponding LE security level.
    public var linkSecurity: LinkSecurity { securityLevel.linkSecurity }
    /// True if the link is encrypted with AES-CCM and a P-256 link key.
    public var usesSecureConnections: Bool { usesAESCCM && security.machine.encryption?.linkKey.strength.isSecureConnections ?? false }
    /// True if the link has a P-256 link key but uses E0: Secure Connections was turned off for BR/EDR on one device, or by an attacker.
    public var isDowngraded: Bool { security.machine.encryption?.isDowngraded ?? false }

    // MARK: Security

    /// Raises the link to a security level, with the existing key if it is strong enough, otherwise by pairing. Core Vol 3, Part C, 5.2.2.
    ///
    /// - Throws: `HostError.peer(.rejected)` with the reason: PIN or Key Missing if the peer has no key, Authentication Failure if it has
    ///   another one, Insufficient Security if the level was not reached. The existing key is kept in any case.
    ///
    /// - Parameter isDedicated: true if no service requires the level: a pairing is dedicated bonding. Core Vol 3, Part C, 6.5.3.
    public func secure(to level: SecurityMode4Level, isDedicated: Bool = false) async throws {
        guard isConnected else { throw HostError.misuse(.notConnected) }
        try await security.secure(to: demanded(level), isDedicated: isDedicated)
    }

    /// The level for a service: in Secure Connections Only mode level 4, except for service discovery. Core Vol 3, Part C, 5.2.2.
    private func demanded(_ level: SecurityMode4Level) -> SecurityMode4Level {
        guard level > .open else { return level }
        if host.context.quirks.channels.ignoresLevels { return .unauthenticated }
        return host.pairingSettings?.isSecureConnectionsOnly == true ? .secureConnections : level
    }

    /// Pairs, even if there is a key, and encrypts the link with the new one.
    ///
    /// - Parameter settings: nil for the settings of the host, or the defaults.
    /// - Throws: `HostError.peer(.rejected)` with the reason, `.misuse(.busy)`.
    @discardableResult
    public func pair(_ settings: PairingSettings? = nil) async throws -> PairingResult {
        guard isConnected else { throw HostError.misuse(.notConnected) }
        return try await security.pair(settings ?? host.pairingSettings ?? PairingSettings())
    }

    /// Derives LE keys from a P-256 link key, as central. This is automatic after each pairing with such a key if the host's settings
    /// include the LTK in both key distributions. Core Vol 3, Part H, 2.4.2.5.
    ///
    /// - Throws: `HostError.peer(.pairingFailed)` or `.peer(.pairingRefused)` with the reason, `.misuse(.onlyForCentrals)`.
    @discardableResult
    public func deriveKeys(_ settings: PairingSettings? = nil) async throws -> PairingResult {
        guard isConnected else { throw HostError.misuse(.notConnected) }
        return try await keyDerivation.pair(settings ?? host.pairingSettings ?? PairingSettings())
    }

    // MARK: Channels

    /// Opens a channel to a service of the peer, after raising the link to the required security level. Core Vol 3, Part A, 4.2; Part C,
    /// 5.2.2.1.
    ///
    /// - Parameter level: nil for the minimum: none for service discovery, otherwise `.unauthenticated`.
    /// - Throws: `HostError.peer(.channel)` with the reason, or the error of the security procedure or connection.
    func openChannel(
        _ psm: UInt16, _ settings: ClassicChannelSettings = ClassicChannelSettings(), level: SecurityMode4Level? = nil
    ) async throws -> ClassicDataChannel {
        if isConnected { try await secureForChannel(level ?? ClassicService.leastLevel(psm)) }
        return try await channels.open(psm, settings)
    }

    /// Opens up to five channels in enhanced credit-based flow control mode with one request, after raising the link to the required security
    /// level. Core Vol 3, Part A, 4.25; Part C, 5.2.2.1.
    ///
    /// - Parameter opened: receives each channel before its first data.
    /// - Returns: the accepted channels; at least one.
    /// - Throws: `HostError.peer(.channel)` with the refusal, or the error of the security procedure or connection.
    public func openChannels(
        _ spsm: UInt16, count: Int = 1, _ settings: CreditBasedChannelSettings = CreditBasedChannelSettings(),
        level: SecurityMode4Level = .unauthenticated, opened: @escaping (CreditBasedChannel) -> Void = { _ in }
    ) async throws -> [CreditBasedChannel] {
        if isConnected { try await secureForChannel(level) }
        return try await creditBased.open(spsm, settings, .enhanced, count: count, opened: opened)
    }

    /// Waits for a channel that the peer has requested, for 20 s at most.
    func awaitArrival(psm: UInt16, until isThere: () -> Bool) async throws {
        let end = host.loop.now + .seconds(20)
        while !isThere(), channels.isArriving(psm: psm), host.loop.now < end { try await host.loop.sleep(for: .milliseconds(10)) }
    }

    private func secureForChannel(_ level: SecurityMode4Level) async throws {
        if !host.context.quirks.channels.requestsInClear { try await security.secure(to: demanded(level)) }
    }

    /// Decides on a request for credit-based channels.
    private func admitCreditBased(_ identifier: UInt8, _ spsm: UInt16, count: Int) -> CreditBasedSignaling.Decision? {
        guard var service = host.context.classicCreditServices[spsm] else { return .refuse(.refusedSPSMNotSupported) }
        service.settings.minimumSecurity = demanded(SecurityMode4Level(max(.encrypted, service.settings.minimumSecurity))).linkSecurity
        if linkSecurity < service.settings.minimumSecurity, security.machine.isMeasuring {
            undecidedCreditBased.append((identifier, spsm, count))
            return nil
        }
        endIfInClear()
        return service.decision(
            on: .classic(self), security: linkSecurity, keySize: encryptionKeySize, hasKey: host.keys.linkKey(of: address) != nil,
            count: count)
    }

    /// Decides on a channel request. The peer must raise the security level before its request. Core Vol 3, Part C, 5.2.2.2.
    private func admit(_ cid: UInt16, _ psm: UInt16) -> ClassicSignaling.Decision? {
        guard let service = host.context.classicServices[psm] else { return .refuse(.refusedPSMNotSupported) }
        // There is one ATT bearer, and both sides ask for it. Core Vol 3, Part G, 5.4.
        if psm == PSM.att, channels.isRequested(psm: psm) {
            hasCollided = true
            return .refuse(.refusedNoResources)
        }
        guard securityLevel < demanded(service.level), !host.context.quirks.channels.admitsInClear else { return .accept(service.settings) }
        guard security.machine.isMeasuring else {
            endIfInClear()
            return .refuse(.refusedSecurityBlock)
        }
        undecided.append((cid, psm))
        return nil
    }

    /// Ends a link that is not encrypted, on which the peer has requested a channel to a protected service, after the refusal. Core Vol 3,
    /// Part C, 5.2.2.
    private func endIfInClear() {
        guard security.machine.applied == nil, security.machine.isIdle, !host.context.quirks.channels.staysInClear else { return }
        host.loop.schedule(after: .zero) { [weak self] in
            guard let self, isConnected else { return }
            _ = host.loop.start { [self] in
                try await drained()
                if security.machine.applied == nil { try await disconnect(.authenticationFailure) }
            }
        }
    }

    /// Handles held channel requests once the encryption of the link is known.
    private func settled() {
        decide()
        layers.settled()
        keyDerivation.settled()
    }

    private func decide() {
        let waiting = undecided
        undecided.removeAll()
        for (cid, psm) in waiting {
            if let decision = admit(cid, psm) { channels.decide(cid, decision) }
        }
        let requests = undecidedCreditBased
        undecidedCreditBased.removeAll()
        for (identifier, spsm, count) in requests {
            if let decision = admitCreditBased(identifier, spsm, count: count) { channels.decideCreditBased(identifier, decision) }
        }
    }

    // MARK: Events

    func tell(_ event: ClassicConnectionEvent) { events.tell { $0(event) } }

    override func closeLayers(_ error: HostError) {
        channels.ended(error)
        creditBased.ended(error)
        security.ended(error)
        layers.ended(error)
        keyDerivation.ended(error)
    }

    override func tellEnd(_ reason: ErrorCode) { tell(.disconnected(reason)) }
}
