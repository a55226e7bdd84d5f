import HCI
import Packets
import Timing

/// What happens on a BR/EDR connection without being asked for, or at the peer's request.
public enum ClassicConnectionEvent: Sendable, Equatable {
    /// The link is encrypted, or encrypted anew, and worth this.
    case secured(SecurityMode4Level)
    /// Whoever asked for it; the link is encrypted with the new key.
    case paired(PairingResult)
    case pairingFailed(HostError)
    /// The keys of LE were derived from that of BR/EDR.
    case derived(PairingResult)
    case derivationFailed(HostError)
    case disconnected(ErrorCode)
}

/// One BR/EDR connection and the channels on it.
public final class ClassicConnection {
    public let handle: ConnectionHandle
    public let address: BDADDR
    /// This side has paged; roles may have been switched since.
    public let isInitiator: Bool
    /// Central of the piconet, whoever has paged. Core Vol 4, Part E, 7.7.18.
    public internal(set) var isCentral: Bool
    public let host: Host
    /// Why the connection ended; nil while it is up.
    public private(set) var disconnectReason: ErrorCode?
    /// Told of what happens without being asked for.
    public let events = Listeners<(ClassicConnectionEvent) -> Void>()
    let channels: ClassicChannels
    let security: ClassicSecurity
    /// What this host has on the channels.
    private(set) lazy var layers = ClassicLayers(self)
    let keyDerivation: KeyDerivationChannel
    private let multiplexer: L2CAPMultiplexer
    private let end: Promise<ErrorCode>
    /// Channels that the peer wants while it is not known yet how well the link is encrypted.
    private var undecided: [(cid: UInt16, psm: UInt16)] = []

    init(_ handle: ConnectionHandle, peer: BDADDR, isInitiator: Bool, host: Host, slot: Int) {
        self.handle = handle
        address = peer
        self.isInitiator = isInitiator
        isCentral = isInitiator
        self.host = host
        end = Promise(on: host.loop)
        multiplexer = L2CAPMultiplexer(handle: handle, slot: slot, context: host.context)
        channels = ClassicChannels(on: multiplexer, loop: host.loop)
        security = ClassicSecurity(handle, of: peer, host: host)
        keyDerivation = KeyDerivationChannel(on: multiplexer.channel(KeyDerivationChannel.cid), host: host)
        security.connection = self
        keyDerivation.connection = self
        security.settled = { [unowned self] in settled() }
        channels.admits = { [unowned self] in admit($0, $1) }
        channels.arrived = { [unowned self] in host.context.classicServices[$0.terms.psm]?.opened($0, self) }
    }

    public var isConnected: Bool { disconnectReason == nil }
    /// The identity of the device, by which it is known on LE, too.
    public var peer: PeerIdentity { PeerIdentity(DeviceAddress(address, kind: .public)) }
    public var securityLevel: SecurityMode4Level { security.machine.level }
    /// Octets of the key that the link is encrypted with, 7...16; 0 while it is not. Core Vol 4, Part E, 7.5.7.
    public var encryptionKeySize: Int { security.machine.encryption?.keySize ?? 0 }
    /// The same by the names of LE.
    public var linkSecurity: LinkSecurity { securityLevel.linkSecurity }
    /// The link is encrypted with a key of P-256 and AES-CCM.
    public var usesSecureConnections: Bool { usesAESCCM && security.machine.encryption?.linkKey.strength.isSecureConnections ?? false }
    /// The link has a key of P-256, and E0 encrypts it: one of the two devices has turned Secure Connections off for BR/EDR, or somebody between them has.
    public var isDowngraded: Bool { security.machine.encryption?.isDowngraded ?? false }
    /// What is kept of the peer.
    public var bond: Bond? { host.keys[peer] }
    /// Told of the PDUs on all channels, for evidence.
    public var pduObservers: Listeners<PDUObserver> { multiplexer.observers }
    /// ACL fragments that wait in the queues of all channels.
    public var queuedFragments: Int { multiplexer.queuedFragments }
    /// ACL fragments that the controller holds.
    public var fragmentsInController: Int { multiplexer.fragmentsInController }
    /// Waits until the peer has acknowledged what was sent: a disconnection overtakes data. Returns when the time is over or the connection has ended, too.
    public func drained(within limit: Microseconds = .seconds(2)) async throws { try await multiplexer.drained(within: limit) }

    /// Ends the connection and waits until it has ended.
    @discardableResult
    public func disconnect(_ reason: ErrorCode = .remoteUserTerminatedConnection) async throws -> ErrorCode {
        if let disconnectReason { return disconnectReason }
        try await host.send(HCICommands.Disconnect(connectionHandle: handle, reason: reason))
        return try await ended()
    }

    /// Waits until the connection has ended.
    public func ended(within limit: Microseconds? = nil) async throws -> ErrorCode {
        do {
            return try await end.value(until: limit.map { host.loop.now + $0 })
        } catch is TimeOut {
            throw HostError.environment(.timedOut(.disconnection))
        }
    }

    // MARK: Security

    /// Makes the link be of a level: with the key that is there if that is good enough, else by pairing. Core Vol 3, Part C, 5.2.2.
    ///
    /// - Throws: `HostError.peer(.rejected)` with the reason: PIN or Key Missing if the peer has no key, Authentication Failure if it has another one,
    ///   Insufficient Security if less was reached. The key that is there stays in any case.
    public func secure(to level: SecurityMode4Level) async throws {
        guard isConnected else { throw HostError.misuse(.notConnected) }
        try await security.secure(to: level)
    }

    /// Pairs anew, whether or not there is a key, and encrypts the link with the new one.
    ///
    /// - Parameter settings: those of the host, or the defaults, if nil.
    /// - Throws: `HostError.peer(.rejected)` with the reason, `.misuse(.busy)`.
    @discardableResult
    public func pair(_ settings: PairingSettings? = nil) async throws -> PairingResult {
        guard isConnected else { throw HostError.misuse(.notConnected) }
        return try await security.pair(settings ?? host.pairingSettings ?? PairingSettings())
    }

    /// Derives the keys of LE from a link key of P-256, as central; by itself it happens after each pairing that leaves such a key, where the host's settings
    /// give and want an LTK. Core Vol 3, Part H, 2.4.2.5.
    ///
    /// - Throws: `HostError.peer(.pairingFailed)` or `.peer(.pairingRefused)` with the reason, `.misuse(.onlyForCentrals)`.
    @discardableResult
    public func deriveKeys(_ settings: PairingSettings? = nil) async throws -> PairingResult {
        guard isConnected else { throw HostError.misuse(.notConnected) }
        return try await keyDerivation.pair(settings ?? host.pairingSettings ?? PairingSettings())
    }

    // MARK: Channels

    /// Opens a channel to a service of the peer, once the link is as well protected as that wants it. Core Vol 3, Part A, 4.2; Part C, 5.2.2.1.
    ///
    /// - Parameter level: nil for the least that there is: none for service discovery, else `.unauthenticated`.
    /// - Throws: `HostError.peer(.channel)` with the reason, why the link cannot be protected, or why there is no connection.
    func openChannel(
        _ psm: UInt16, _ settings: ClassicChannelSettings = ClassicChannelSettings(), level: SecurityMode4Level? = nil
    ) async throws -> ClassicDataChannel {
        if isConnected { try await security.secure(to: level ?? ClassicService.leastLevel(psm)) }
        return try await channels.open(psm, settings)
    }

    /// A peer protects the link before it asks for a channel. Core Vol 3, Part C, 5.2.2.2.
    private func admit(_ cid: UInt16, _ psm: UInt16) -> ClassicSignaling.Decision? {
        guard let service = host.context.classicServices[psm] else { return .refuse(.refusedPSMNotSupported) }
        guard securityLevel < service.level, !host.context.quirks.channels.admitsInClear else { return .accept(service.settings) }
        guard security.machine.isMeasuring else { return .refuse(.refusedSecurityBlock) }
        undecided.append((cid, psm))
        return nil
    }

    /// How the link is encrypted is known again.
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
    }

    // MARK: From below

    func tell(_ event: ClassicConnectionEvent) { events.tell { $0(event) } }
    func received(boundary: ACLHeader.Boundary, _ fragment: RawSpan) { multiplexer.received(boundary: boundary, fragment) }
    func becameWritable(lane: Int) { multiplexer.becameWritable(lane: lane) }

    func ended(_ error: HostError, reason: ErrorCode) {
        guard disconnectReason == nil else { return }
        disconnectReason = reason
        multiplexer.close(error)
        channels.ended(error)
        security.ended(error)
        layers.ended(error)
        keyDerivation.ended(error)
        end.fulfil(reason)
        tell(.disconnected(reason))
    }
}
