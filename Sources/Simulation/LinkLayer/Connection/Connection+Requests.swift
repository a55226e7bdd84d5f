import Packets

/// What a host may ask of a link. Each returns the status for HCI Command Status (or Complete); the result comes to the delegate.
extension Connection {
    /// HCI Disconnect. The delegate hears 0x16 when the other side has acknowledged it, or the supervision timeout has passed.
    @discardableResult
    func terminate(_ reason: ErrorCode) -> ErrorCode {
        guard !isClosed, !engine.isTerminating else { return .commandDisallowed }
        request(LocalTermination(reason))
        return .success
    }

    /// LE Connection Update. A peripheral asks by LL_CONNECTION_PARAM_REQ. So does a central that is able to, unless it knows that the peripheral is not; otherwise it announces the
    /// change. Core Vol 6, Part B, 5.1.1.
    func updateParameters(_ requested: RequestedParameters) -> ErrorCode {
        guard requested.isLegal else { return .invalidHCICommandParameters }
        guard !engine.isBusy(with: .connectionUpdate), !engine.isBusy(with: .parameterRequest) else { return .commandDisallowed }
        let isAble = configuration.features.contains(.connectionParametersRequest) && !state.peer.lacks(.connectionParametersRequest)
        if role == .central, !isAble { request(LocalConnectionUpdate(requested)) } else { request(LocalParameterRequest(requested)) }
        return .success
    }

    /// The host's answer to `connection(_:requested:)`: parameters to accept, or nil and the reason of the refusal.
    func replyToParameterRequest(_ accepted: RequestedParameters?, reason: ErrorCode = .unacceptableConnectionParameters) -> ErrorCode {
        if let accepted, !accepted.isLegal { return .invalidHCICommandParameters }
        return reply(accepted.map { .acceptsParameters($0) } ?? .refusesParameters(reason)) ? .success : .commandDisallowed
    }

    /// LE Set Host Channel Classification; only a central acts on it.
    func updateChannelMap(_ map: ChannelMap) {
        guard role == .central, map != channelMap, map.used.count >= 2 else { return }
        request(LocalChannelMapUpdate(map))
    }

    /// LE Set PHY; an empty mask is no preference.
    ///
    /// - Parameter prefersS2: S2 (true) or S8 (false) on LE Coded; nil is no preference.
    func updatePHY(tx: PHYs, rx: PHYs, prefersS2: Bool? = nil) -> ErrorCode {
        guard !engine.isBusy(with: .phy) else { return .commandDisallowed }
        apply(.preferredPHYs(tx: tx, rx: rx))
        apply(.codedPreference(prefersS2: prefersS2))
        request(LocalPHYUpdate())
        return .success
    }

    /// LE Set Data Length: what this side is to send at most.
    func setDataLength(txOctets: UInt16, txTime: UInt16) -> ErrorCode {
        guard configuration.features.contains(.leDataPacketLengthExtension) else { return .unknownHCICommand }
        guard (27...251).contains(txOctets), (328...17_040).contains(txTime) else { return .invalidHCICommandParameters }
        apply(.localLengths(octets: txOctets, time: txTime))
        request(LocalDataLengthUpdate())
        return .success
    }

    /// LE Read Remote Features.
    func readRemoteFeatures() -> ErrorCode {
        guard !engine.isBusy(with: .features) else { return .commandDisallowed }
        request(LocalFeatureExchange())
        return .success
    }

    /// Read Remote Version Information.
    func readRemoteVersion() -> ErrorCode {
        guard !engine.isBusy(with: .version) else { return .commandDisallowed }
        request(LocalVersionExchange())
        return .success
    }

    /// LE Enable Encryption; only a central starts it. Where the link is encrypted, the session key is refreshed. Core Vol 6, Part B, 5.1.3.
    func encrypt(_ key: EncryptionKey) -> ErrorCode {
        guard role == .central, !engine.isBusy(with: .encryption) else { return .commandDisallowed }
        request(LocalEncryption(key))
        return .success
    }

    /// The host's answer to `connection(_:requestedKey:diversifier:)`; nil for no key.
    func replyToKeyRequest(_ key: UInt128?) -> ErrorCode {
        reply(key.map { .longTermKey($0) } ?? .noLongTermKey) ? .success : .commandDisallowed
    }

    /// LE ping, which an encrypted link does by itself.
    func ping() { request(LocalPing()) }
}

/// What a host may know of a link.
extension Connection {
    var handle: ConnectionHandle { parameters.handle }
    var interval: Microseconds { state.timing.interval }
    var peripheralLatency: Int { state.timing.peripheralLatency }
    var supervisionTimeout: Microseconds { state.timing.supervisionTimeout }
    var channelMap: ChannelMap { state.channels.map }
    var transmitPHY: PHY { state.phys.transmit }
    var receivePHY: PHY { state.phys.receive }
    /// The effective values.
    var dataLength: DataLength { state.lengths.effective }
}
