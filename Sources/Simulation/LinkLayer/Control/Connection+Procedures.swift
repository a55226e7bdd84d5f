import Packets

/// What a host may ask of a link. Each returns the status for HCI Command Status (or Complete); the result comes to the delegate.
extension Connection {
    /// HCI Disconnect. The delegate hears 0x16 when the other side has acknowledged it, or the supervision timeout has passed.
    @discardableResult
    func terminate(_ reason: ErrorCode) -> ErrorCode { control.terminate(reason) ? .success : .commandDisallowed }

    /// LE Connection Update. A central announces the change, a peripheral asks for it.
    ///
    /// - Parameter negotiates: makes a central ask as well, by LL_CONNECTION_PARAM_REQ.
    func updateParameters(_ requested: RequestedParameters, negotiates: Bool = false) -> ErrorCode {
        guard requested.isLegal else { return .invalidHCICommandParameters }
        guard !control.isBusy(with: .connectionUpdate), !control.isBusy(with: .parameterRequest) else { return .commandDisallowed }
        if role == .central, !negotiates {
            control.request(LocalConnectionUpdate(requested))
        } else {
            control.request(LocalParameterRequest(requested))
        }
        return .success
    }

    /// The host's answer to `connection(_:requested:)`: parameters to accept, or nil and the reason of the refusal.
    func replyToParameterRequest(_ accepted: RequestedParameters?, reason: ErrorCode = .unacceptableConnectionParameters) -> ErrorCode {
        if let accepted, !accepted.isLegal { return .invalidHCICommandParameters }
        return control.answerParameterRequest(accepted, reason: reason) ? .success : .commandDisallowed
    }

    /// LE Set Host Channel Classification; only a central acts on it.
    func updateChannelMap(_ map: ChannelMap) {
        guard role == .central, map != channelMap, map.used.count >= 2 else { return }
        control.request(LocalChannelMapUpdate(map))
    }

    /// LE Set PHY; an empty mask is no preference.
    func updatePHY(tx: PHYs, rx: PHYs) -> ErrorCode {
        guard !control.isBusy(with: .phy) else { return .commandDisallowed }
        preferredTxPHYs = tx
        preferredRxPHYs = rx
        control.request(LocalPHYUpdate())
        return .success
    }

    /// LE Set Data Length: what this side is to send at most.
    func setDataLength(txOctets: UInt16, txTime: UInt16) -> ErrorCode {
        guard configuration.features.contains(.leDataPacketLengthExtension) else { return .unknownHCICommand }
        guard (27...251).contains(txOctets), (328...17_040).contains(txTime) else { return .invalidHCICommandParameters }
        lengths.local.maxTxOctets = min(txOctets, configuration.maxOctets)
        lengths.local.maxTxTime = configuration.features.contains(.leCodedPHY) ? txTime : min(txTime, 2_120)
        updateEffectiveLengths()
        control.request(LocalDataLengthUpdate())
        return .success
    }

    /// LE Read Remote Features.
    func readRemoteFeatures() -> ErrorCode {
        guard !control.isBusy(with: .features) else { return .commandDisallowed }
        control.request(LocalFeatureExchange())
        return .success
    }

    /// Read Remote Version Information.
    func readRemoteVersion() -> ErrorCode {
        guard !control.isBusy(with: .version) else { return .commandDisallowed }
        control.request(LocalVersionExchange())
        return .success
    }

    /// LE ping, which an encrypted link does by itself.
    func ping() { control.request(LocalPing()) }
}
