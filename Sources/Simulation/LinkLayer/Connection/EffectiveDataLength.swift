import Packets

/// Which data lengths a link uses, from what both sides are able and willing to do. Core Vol 6, Part B, 4.5.10.
struct EffectiveDataLength {
    /// What this side asks for: connMaxTxOctets, connMaxTxTime, connMaxRxOctets, connMaxRxTime.
    var local = DataLength()
    /// What the other side told, from its own point of view.
    var remote = DataLength()

    /// On LE Coded, the time that 27 octets with a MIC take at S=8: no limit goes below.
    static let leastCodedTime = 2704

    /// The four effective values.
    func effective(interval: Microseconds, transmitPHY: PHY, receivePHY: PHY) -> DataLength {
        let tx = Int(min(local.maxTxTime, remote.maxRxTime))
        let rx = Int(min(local.maxRxTime, remote.maxTxTime))
        let longestSent = transmitPHY == .leCoded ? max(tx, Self.leastCodedTime) : tx
        let longestReceived = receivePHY == .leCoded ? max(rx, Self.leastCodedTime) : rx
        return DataLength(
            maxTxOctets: min(local.maxTxOctets, remote.maxRxOctets),
            maxTxTime: Self.time(tx, on: transmitPHY, interval: interval, opposite: longestReceived),
            maxRxOctets: min(local.maxRxOctets, remote.maxTxOctets),
            maxRxTime: Self.time(rx, on: receivePHY, interval: interval, opposite: longestSent))
    }

    private static func time(_ negotiated: Int, on phy: PHY, interval: Microseconds, opposite: Int) -> UInt16 {
        guard phy == .leCoded else { return UInt16(clamping: negotiated) }
        let available = Int(interval.rawValue) - opposite - 2 * Int(interFrameSpace.rawValue)
        return UInt16(clamping: max(leastCodedTime, min(negotiated, available)))
    }
}
