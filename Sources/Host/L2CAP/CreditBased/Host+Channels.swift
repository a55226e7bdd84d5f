import BBPackets
import BBTiming

extension Host {
    /// Accepts credit-based channels to a service.
    ///
    /// - Parameters:
    ///   - spsm: 0x0001...0x007F assigned, 0x0080...0x00FF dynamic. Core Vol 3, Part A, 4.22.
    ///   - opened: receives each channel before its first data.
    public func listen(
        _ spsm: UInt16, _ settings: CreditBasedChannelSettings = CreditBasedChannelSettings(),
        opened: @escaping (CreditBasedChannel) -> Void
    ) {
        listen(spsm, settings) { channel, _ in opened(channel) }
    }

    /// Accepts credit-based channels to a service, and tells on which connection each was opened.
    public func listen(
        _ spsm: UInt16, _ settings: CreditBasedChannelSettings = CreditBasedChannelSettings(),
        openedOn opened: @escaping (CreditBasedChannel, Connection) -> Void
    ) {
        listen(spsm, settings, over: .le) { channel, link in
            if case .le(let connection) = link { opened(channel, connection) }
        }
    }

    /// Accepts credit-based channels to a service over a transport. Over BR/EDR they are in enhanced credit-based flow control mode, and the
    /// link is always encrypted. Core Vol 3, Part A, 4.25; Part C, 5.2.2.
    ///
    /// - Parameter admits: decides about a number of channels that a peer with the necessary security requests; by default all are accepted.
    public func listen(
        _ spsm: UInt16, _ settings: CreditBasedChannelSettings = CreditBasedChannelSettings(), over transport: PeerTransport,
        admits: @escaping (PeerLink, _ count: Int) -> ChannelAdmission = { .accept(first: $1) },
        openedBy opened: @escaping (CreditBasedChannel, PeerLink) -> Void
    ) {
        let service = ChannelService(settings: settings, admits: admits, opened: opened)
        switch transport {
        case .le: context.services[spsm] = service
        case .brEDR: context.classicCreditServices[spsm] = service
        }
    }

    /// Refuses new channels to a service; open channels remain.
    public func stopListening(_ spsm: UInt16) {
        context.services[spsm] = nil
        context.classicCreditServices[spsm] = nil
    }
}

/// A service's answer to a request for channels that has the necessary security. Core Vol 3, Part A, 4.23 and 4.26.
public enum ChannelAdmission: Sendable, Hashable {
    /// Accepts the first channels of the request, and refuses the others for want of resources.
    case accept(first: Int)
    /// The peer is not authorized. Core Vol 3, Part C, 10.5.
    case notAuthorized
}

/// A service that accepts credit-based channels.
struct ChannelService {
    var settings: CreditBasedChannelSettings
    var admits: (PeerLink, _ count: Int) -> ChannelAdmission
    var opened: (CreditBasedChannel, PeerLink) -> Void

    /// Returns the answer to a request on a link with this security. Core Vol 3, Part A, 4.23 and 4.26; Part C, 10.3.1 and 10.5.
    ///
    /// - Parameter hasKey: true if the link can be encrypted without pairing.
    func decision(on link: PeerLink, security: LinkSecurity, keySize: Int, hasKey: Bool, count: Int) -> CreditBasedSignaling.Decision {
        if let refusal = settings.refusal(security: security, keySize: keySize, hasKey: hasKey) { return .refuse(refusal) }
        switch admits(link, count) {
        case .notAuthorized: return .refuse(.refusedInsufficientAuthorization)
        case .accept(let first) where first >= count: return .accept(settings)
        case .accept(let first): return first > 0 ? .acceptFirst(first, settings) : .refuse(.refusedNoResources)
        }
    }
}

extension CreditBasedChannelSettings {
    /// The reason for refusing a channel on a link with this security; nil if there is none. Core Vol 3, Part C, 10.3.1.
    func refusal(security: LinkSecurity, keySize: Int, hasKey: Bool) -> CreditBasedConnectionResult? {
        if security < minimumSecurity {
            return security == .none && hasKey ? .refusedInsufficientEncryption : .refusedInsufficientAuthentication
        }
        return security > .none && keySize < minimumKeySize ? .refusedEncryptionKeySizeTooShort : nil
    }
}

extension Connection {
    /// Opens a credit-based channel to a service of the peer. Core Vol 3, Part A, 4.22.
    ///
    /// - Parameter opened: receives the channel before its first data.
    /// - Throws: `HostError.peer(.channel)` with the refusal, `.misuse(.illegalChannel)`, or the reason why there is no connection.
    public func openChannel(
        _ spsm: UInt16, _ settings: CreditBasedChannelSettings = CreditBasedChannelSettings(),
        opened: @escaping (CreditBasedChannel) -> Void = { _ in }
    ) async throws -> CreditBasedChannel {
        let channels = try await channels.open(
            spsm, context.quirks.channels.applied(to: settings, .lowEnergy), .lowEnergy, count: 1, opened: opened)
        guard let channel = channels.first else { throw HostError.misuse(.noChannelLeft) }
        return channel
    }

    /// Opens up to five channels in enhanced credit-based mode with one request. Core Vol 3, Part A, 4.25.
    ///
    /// - Parameter opened: receives each channel before its first data.
    /// - Returns: the accepted channels; at least one.
    public func openChannels(
        _ spsm: UInt16, count: Int, _ settings: CreditBasedChannelSettings = CreditBasedChannelSettings(),
        opened: @escaping (CreditBasedChannel) -> Void = { _ in }
    ) async throws -> [CreditBasedChannel] {
        try await channels.open(spsm, context.quirks.channels.applied(to: settings, .enhanced), .enhanced, count: count, opened: opened)
    }

    /// Collects what `body` sends, so that channels take turns from its first K-frame on.
    public func together(_ body: () -> Void) { context.scheduler.together(body) }

    /// Changes the MTU and MPS of channels in enhanced mode. Core Vol 3, Part A, 4.27.
    public func reconfigure(_ list: [CreditBasedChannel], mtu: UInt16, mps: UInt16) async throws {
        try await channels.reconfigure(list, mtu: mtu, mps: mps)
    }

    func connectChannels() {
        channels.admits = { [unowned self] spsm, kind, count in
            guard var service = context.services[spsm] else {
                return spsm == PSM.eatt ? enhanced.decide(kind, count: count) : .refuse(.refusedSPSMNotSupported)
            }
            service.settings = context.quirks.channels.applied(to: service.settings, kind)
            let decision = service.decision(
                on: .le(self), security: security, keySize: encryptionKeySize, hasKey: context.keys[peer] != nil, count: count)
            return context.quirks.channels.limited(decision, to: count, beside: channels.count)
        }
        channels.arrived = { [unowned self] channel in
            if let service = context.services[channel.spsm] {
                service.opened(channel, .le(self))
            } else if channel.spsm == PSM.eatt {
                enhanced.adopt(channel)
            }
        }
    }
}

extension ChannelQuirks {
    /// The answer to a request for channels of a host that has resources for a number of them only.
    func limited(_ decision: CreditBasedSignaling.Decision, to count: Int, beside open: Int) -> CreditBasedSignaling.Decision {
        guard let mostChannels, case .accept(let settings) = decision, open + count > mostChannels else { return decision }
        return open < mostChannels ? .acceptFirst(mostChannels - open, settings) : .refuse(.refusedNoResources)
    }

    /// The settings of a credit-based channel with this host's offers.
    func applied(to settings: CreditBasedChannelSettings, _ kind: CreditBasedKind) -> CreditBasedChannelSettings {
        var settings = settings
        settings.mps = offeredMPS ?? settings.mps
        settings.initialCredits = offeredCredits ?? settings.initialCredits
        if creditsWholeSDUs {
            settings.grantsForWholeSDUs = true
            settings.initialCredits = max(settings.initialCredits, settings.framesOfLongestSDU)
        }
        // A request in enhanced mode has at least one credit. Core Vol 3, Part A, 4.25.
        settings.grantsFirstCreditsLater = offersNoCredits && kind == .lowEnergy && settings.grantsCredits
        return settings
    }
}
