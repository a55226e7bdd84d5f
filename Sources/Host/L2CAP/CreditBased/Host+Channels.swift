import Packets
import Timing

extension Host {
    /// Lets peers open credit-based channels to a service.
    ///
    /// - Parameters:
    ///   - spsm: 0x0001...0x007F as assigned, 0x0080...0x00FF for whoever wants one. Core Vol 3, Part A, 4.22.
    ///   - opened: gets each channel, before anything is received on it.
    public func listen(
        _ spsm: UInt16, _ settings: CreditBasedChannelSettings = CreditBasedChannelSettings(),
        opened: @escaping (CreditBasedChannel) -> Void
    ) {
        context.services[spsm] = ChannelService(settings: settings, opened: opened)
    }

    /// Refuses channels to a service from now on; those that are open stay.
    public func stopListening(_ spsm: UInt16) { context.services[spsm] = nil }
}

/// A service that peers may open credit-based channels to.
struct ChannelService {
    var settings: CreditBasedChannelSettings
    var opened: (CreditBasedChannel) -> Void

    /// What a peer is told on a link that is protected like this. Core Vol 3, Part A, 4.23; Vol 3, Part C, 10.3.1.
    ///
    /// - Parameter hasKey: whether the link could be encrypted without pairing.
    func decision(security: LinkSecurity, keySize: Int, hasKey: Bool) -> CreditBasedSignaling.Decision {
        if security < settings.minimumSecurity {
            return .refuse(security == .none && hasKey ? .refusedInsufficientEncryption : .refusedInsufficientAuthentication)
        }
        if security > .none, keySize < settings.minimumKeySize { return .refuse(.refusedEncryptionKeySizeTooShort) }
        return .accept(settings)
    }
}

extension Connection {
    /// Opens a credit-based channel to a service of the peer. Core Vol 3, Part A, 4.22.
    ///
    /// - Throws: `HostError.peer(.channel)` with the peer's refusal, `.misuse(.illegalChannel)`, or why there is no connection.
    public func openChannel(_ spsm: UInt16, _ settings: CreditBasedChannelSettings = CreditBasedChannelSettings()) async throws
        -> CreditBasedChannel
    {
        let opened = try await channels.open(spsm, settings, .lowEnergy, count: 1)
        guard let channel = opened.first else { throw HostError.misuse(.noChannelLeft) }
        return channel
    }

    /// Opens up to five channels in enhanced credit-based mode with one request. Core Vol 3, Part A, 4.25.
    ///
    /// - Returns: those that the peer has let in; at least one.
    public func openChannels(
        _ spsm: UInt16, count: Int, _ settings: CreditBasedChannelSettings = CreditBasedChannelSettings()
    ) async throws -> [CreditBasedChannel] {
        try await channels.open(spsm, settings, .enhanced, count: count)
    }

    /// Tells the peer that channels in enhanced mode take longer SDUs from now on, or other frames. Core Vol 3, Part A, 4.27.
    public func reconfigure(_ list: [CreditBasedChannel], mtu: UInt16, mps: UInt16) async throws {
        try await channels.reconfigure(list, mtu: mtu, mps: mps)
    }

    func connectChannels() {
        channels.admits = { [unowned self] spsm in
            guard let service = context.services[spsm] else { return .refuse(.refusedSPSMNotSupported) }
            let hasKey = context.keys[peer] != nil
            return service.decision(security: security, keySize: encryptionKeySize, hasKey: hasKey)
        }
        channels.arrived = { [unowned self] channel in context.services[channel.spsm]?.opened(channel) }
    }
}
