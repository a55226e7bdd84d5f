import Packets

/// How the results of procedures reach the link.
extension Connection {
    /// Makes a change, and says whether anything differs from before.
    func apply(_ change: LinkChange, event: Int) -> Bool {
        switch change {
        case .timing(let timing): return apply(timing, event: event)
        case .channelMap(let map):
            defer { channelMap = map }
            return map != channelMap
        case .phys(let transmit, let receive):
            let before = (transmitPHY, receivePHY)
            transmitPHY = transmit ?? transmitPHY
            receivePHY = receive ?? receivePHY
            updateEffectiveLengths()
            return before != (transmitPHY, receivePHY)
        case .peerLengths(let told):
            lengths.remote = DataLength(
                maxTxOctets: max(27, told.maxTxOctets), maxTxTime: max(328, told.maxTxTime), maxRxOctets: max(27, told.maxRxOctets),
                maxRxTime: max(328, told.maxRxTime))
            return updateEffectiveLengths()
        case .peerFeatures(let features):
            control.peerFeatures = features
            return true
        case .peerVersion(let version):
            control.peerVersion = version
            return true
        }
    }

    private func apply(_ timing: LinkTiming, event: Int) -> Bool {
        let before = (interval, peripheralLatency, supervisionTimeout)
        clock.change(interval: timing.interval, at: event, offset: timing.windowOffset)
        peripheralLatency = timing.latency
        supervisionTimeout = timing.timeout
        if role == .peripheral { transmitWindow = timing.windowSize }
        startSupervision()
        updateEffectiveLengths()
        return before != (interval, peripheralLatency, supervisionTimeout)
    }

    /// Recomputes the effective data lengths and tells of a difference.
    @discardableResult
    func updateEffectiveLengths() -> Bool {
        let effective = lengths.effective(interval: interval, transmitPHY: transmitPHY, receivePHY: receivePHY)
        guard effective != dataLength else { return false }
        dataLength = effective
        delegate?.connectionDataLengthChanged(self)
        return true
    }
}
