import Packets

/// Which data lengths a link uses, from what both sides are able and willing to do. Core Vol 6, Part B, 4.5.10.
struct DataLengths {
    /// What this side asks for: connMaxTxOctets, connMaxTxTime, connMaxRxOctets, connMaxRxTime.
    private(set) var local = DataLength()
    /// What the other side reported, from its own point of view.
    private(set) var remote = DataLength()
    /// The four effective values.
    private(set) var effective = DataLength()

    /// On LE Coded, the time that 27 octets with a MIC take at S=8: no limit goes below.
    static let leastCodedTime = 2704

    /// Before any exchange: what the configuration and the host's suggestion allow.
    init(_ configuration: ControllerConfiguration, defaults: LinkDefaults, phy: PHY) {
        if configuration.features.contains(.leDataPacketLengthExtension) {
            let longest = Self.longestTime(configuration)
            local = DataLength(
                maxTxOctets: min(defaults.suggestedTxOctets, configuration.maxOctets), maxTxTime: min(defaults.suggestedTxTime, longest),
                maxRxOctets: configuration.maxOctets, maxRxTime: longest)
        }
        if phy == .leCoded {
            remote.maxTxTime = 2704
            remote.maxRxTime = 2704
            local.maxTxTime = max(local.maxTxTime, 2704)
            local.maxRxTime = max(local.maxRxTime, 2704)
        }
    }

    /// The longest time that this side supports: of its longest PDU with a MIC, on the slowest of its PHYs.
    static func longestTime(_ configuration: ControllerConfiguration) -> UInt16 {
        let slowest: AirPHY = configuration.features.contains(.leCodedPHY) ? .codedS8 : .le1M
        return UInt16(clamping: slowest.airTime(payload: Int(configuration.maxOctets) + 4).rawValue)
    }

    /// What LL_LENGTH_REQ and LL_LENGTH_RSP tell the other side; one without LE Coded is told no longer times than LE 1M takes. Core Vol 6, Part B, 5.1.9.
    func told(_ peer: PeerKnowledge) -> DataLength {
        var told = local
        guard peer.lacks(.leCodedPHY) else { return told }
        told.maxTxTime = min(told.maxTxTime, Self.longestUncodedTime)
        told.maxRxTime = min(told.maxRxTime, Self.longestUncodedTime)
        return told
    }

    /// Of 251 octets and a MIC on LE 1M.
    private static let longestUncodedTime: UInt16 = 2120

    mutating func setLocal(octets: UInt16, time: UInt16, _ configuration: ControllerConfiguration) {
        local.maxTxOctets = min(octets, configuration.maxOctets)
        local.maxTxTime = min(time, Self.longestTime(configuration))
    }

    /// What the other side reported, in LL_LENGTH_REQ or LL_LENGTH_RSP; no value goes below what every device can do.
    mutating func setRemote(_ reported: DataLength) {
        remote = DataLength(
            maxTxOctets: max(27, reported.maxTxOctets), maxTxTime: max(328, reported.maxTxTime),
            maxRxOctets: max(27, reported.maxRxOctets), maxRxTime: max(328, reported.maxRxTime))
    }

    /// The longest times that the two sides agree on, regardless of the PHY.
    var agreedTimes: (transmit: Int, receive: Int) {
        (Int(min(local.maxTxTime, remote.maxRxTime)), Int(min(local.maxRxTime, remote.maxTxTime)))
    }

    /// The effective times. On LE Coded a transmission is also bounded by what the interval leaves beside the longest reply.
    func times(interval: Microseconds, transmitPHY: PHY, receivePHY: PHY) -> (transmit: Int, receive: Int) {
        let agreed = agreedTimes
        let longestReply = receivePHY == .leCoded ? max(agreed.receive, Self.leastCodedTime) : agreed.receive
        guard transmitPHY == .leCoded else { return (agreed.transmit, longestReply) }
        let receiveOctets = min(local.maxRxOctets, remote.maxTxOctets)
        let required = 2 * Int(interFrameSpace.rawValue) + min(longestReply, Int(receiveOctets) * 64 + 976)
        return (max(min(agreed.transmit, Int(interval.rawValue) - required), Self.leastCodedTime), longestReply)
    }

    /// Computes the effective values.
    ///
    /// - Returns: whether one of them differs from before.
    mutating func update(interval: Microseconds, transmitPHY: PHY, receivePHY: PHY) -> Bool {
        let before = effective
        let times = times(interval: interval, transmitPHY: transmitPHY, receivePHY: receivePHY)
        effective = DataLength(
            maxTxOctets: min(local.maxTxOctets, remote.maxRxOctets), maxTxTime: UInt16(clamping: times.transmit),
            maxRxOctets: min(local.maxRxOctets, remote.maxTxOctets), maxRxTime: UInt16(clamping: times.receive))
        return effective != before
    }
}

/// Four lengths or times of one side. Core Vol 6, Part B, 4.5.10.
struct DataLength: Hashable {
    var maxTxOctets: UInt16 = 27
    var maxTxTime: UInt16 = 328
    var maxRxOctets: UInt16 = 27
    var maxRxTime: UInt16 = 328
}
