import Packets

/// Which data lengths a link uses, from what both sides are able and willing to do. Core Vol 6, Part B, 4.5.10.
struct EffectiveDataLength {
    /// What this side asks for: connMaxTxOctets, connMaxTxTime, connMaxRxOctets, connMaxRxTime.
    var local = DataLength()
    /// What the other side told, from its own point of view.
    var remote = DataLength()

    /// On LE Coded, the time that 27 octets with a MIC take at S=8: no limit goes below.
    static let leastCodedTime = 2704

    /// The four effective values. On LE Coded a transmission is also bounded by what the interval leaves beside the longest reply.
    func effective(interval: Microseconds, transmitPHY: PHY, receivePHY: PHY) -> DataLength {
        let transmitTime = Int(min(local.maxTxTime, remote.maxRxTime))
        let receiveTime = Int(min(local.maxRxTime, remote.maxTxTime))
        let receiveOctets = min(local.maxRxOctets, remote.maxTxOctets)
        let longestReply = receivePHY == .leCoded ? max(receiveTime, Self.leastCodedTime) : receiveTime
        let required = 2 * Int(interFrameSpace.rawValue) + min(longestReply, Int(receiveOctets) * 64 + 976)
        let available = min(transmitTime, Int(interval.rawValue) - required)
        return DataLength(
            maxTxOctets: min(local.maxTxOctets, remote.maxRxOctets),
            maxTxTime: UInt16(clamping: transmitPHY == .leCoded ? max(available, Self.leastCodedTime) : transmitTime),
            maxRxOctets: receiveOctets,
            maxRxTime: UInt16(clamping: longestReply))
    }
}
