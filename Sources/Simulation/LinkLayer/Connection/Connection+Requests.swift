import BBPackets

/// Requests of the host to a link. Each returns the status for Command Status or Command Complete; the delegate gets the result.
extension Connection {
    /// HCI_Disconnect. The delegate is called with 0x16 once the peer has acknowledged or the supervision timeout has expired.
    @discardableResult
    func terminate(_ reason: ErrorCode) -> ErrorCode {
        guard !isClosed, !engine.isTerminating else { return .commandDisallowed }
        request(LocalTermination(reason))
        return .success
    }

    /// LE_Connection_Update. A peripheral sends LL_CONNECTION_PARAM_REQ. So does a central that supports it, unless the peripheral is known
    /// not to; otherwise it sends LL_CONNECTION_UPDATE_IND. Core Vol 6, Part B, 5.1.1.
    func updateParameters(_ requested: RequestedParameters) -> ErrorCode {
        guard requested.isLegal else { return .invalidHCICommandParameters }
        guard !engine.isBusy(with: .connectionUpdate), !engine.isBusy(with: .parameterRequest) else { return .commandDisallowed }
        let isAble = configuration.features.contains(.connectionParametersRequest) && !state.peer.lacks(.connectionParametersRequest)
        if role == .central, !isAble { request(LocalConnectionUpdate(requested)) } else { request(LocalParameterRequest(requested)) }
        return .success
    }

    /// The host's reply to `connection(_:requested:)`: the accepted parameters, or nil and the reason for rejection.
    func replyToParameterRequest(_ accepted: RequestedParameters?, reason: ErrorCode = .unacceptableConnectionParameters) -> ErrorCode {
        if let accepted, !accepted.isLegal { return .invalidHCICommandParameters }
        return reply(accepted.map { .acceptsParameters($0) } ?? .refusesParameters(reason)) ? .success : .commandDisallowed
    }

    /// LE_Set_Host_Channel_Classification; has an effect on a central only.
    func updateChannelMap(_ map: ChannelMap) {
        guard role == .central, map != channelMap, map.used.count >= 2 else { return }
        request(LocalChannelMapUpdate(map))
    }

    /// LE_Set_PHY; an empty mask means no preference.
    ///
    /// - Parameter prefersS2: true for S=2, false for S=8 on LE Coded; nil for no preference.
    func updatePHY(tx: PHYs, rx: PHYs, prefersS2: Bool? = nil) -> ErrorCode {
        guard !engine.isBusy(with: .phy) else { return .commandDisallowed }
        apply(.preferredPHYs(tx: tx, rx: rx))
        apply(.codedPreference(prefersS2: prefersS2))
        if configuration.choices.ownPHYDelay > 0, tx == transmitPHY.flag, rx == receivePHY.flag {
            // Nothing is to change: such a controller reports it without asking the peer.
            air.loop.schedule(after: .zero) { [weak self] in self.map { $0.delegate?.connection($0, reports: .phy(.success)) } }
        } else {
            request(LocalPHYUpdate())
        }
        return .success
    }

    /// Changes to LE 2M as a central, unless the host prefers other PHYs. The host is informed of a change only. Core Vol 6, Part B, 5.1.10.
    func updatePHYByItself() {
        let preferences = [state.phys.preferredTx, state.phys.preferredRx]
        guard role == .central, !isClosed, !engine.isBusy(with: .phy), preferences.allSatisfy({ $0.isEmpty || $0.contains(.le2M) }) else {
            return
        }
        request(LocalPHYUpdate(isOwn: true))
    }

    /// LE_Set_Data_Length: maximum that this device sends.
    func setDataLength(txOctets: UInt16, txTime: UInt16) -> ErrorCode {
        guard configuration.features.contains(.leDataPacketLengthExtension) else { return .unknownHCICommand }
        typealias Command = HCICommands.LESetDataLength
        guard Command.txOctetsRange.contains(txOctets), Command.txTimeRange.contains(txTime) else { return .invalidHCICommandParameters }
        apply(.localLengths(octets: txOctets, time: txTime))
        request(LocalDataLengthUpdate())
        return .success
    }

    /// LE_Read_Remote_Features.
    func readRemoteFeatures() -> ErrorCode {
        guard !engine.isBusy(with: .features) else { return .commandDisallowed }
        request(LocalFeatureExchange())
        return .success
    }

    /// Read_Remote_Version_Information.
    func readRemoteVersion() -> ErrorCode {
        guard !engine.isBusy(with: .version) else { return .commandDisallowed }
        request(LocalVersionExchange())
        return .success
    }

    /// LE_Enable_Encryption, allowed on a central only. Refreshes the session key if the link is encrypted. Core Vol 6, Part B, 5.1.3.
    func encrypt(_ key: EncryptionKey) -> ErrorCode {
        guard role == .central, !engine.isBusy(with: .encryption) else { return .commandDisallowed }
        request(LocalEncryption(key))
        return .success
    }

    /// The host's reply to `connection(_:requestedKey:diversifier:)`; nil for no key.
    func replyToKeyRequest(_ key: UInt128?) -> ErrorCode {
        reply(key.map { .longTermKey($0) } ?? .noLongTermKey) ? .success : .commandDisallowed
    }

    /// Starts an LE Ping; an encrypted link sends pings by itself.
    func ping() { request(LocalPing()) }
}

/// Link properties that the host can read.
extension Connection {
    var handle: ConnectionHandle { parameters.handle }
    var interval: Microseconds { state.timing.interval }
    var peripheralLatency: Int { state.timing.peripheralLatency }
    var supervisionTimeout: Microseconds { state.timing.supervisionTimeout }
    var channelMap: ChannelMap { state.channels.map }
    var transmitPHY: PHY { state.phys.transmit }
    var receivePHY: PHY { state.phys.receive }
    /// The effective data length.
    var dataLength: DataLength { state.lengths.effective }
}
