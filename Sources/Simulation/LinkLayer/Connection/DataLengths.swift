import BBPackets

/// Data lengths of a link, derived from both devices' limits. Core Vol 6, Part B, 4.5.10.
struct DataLengths {
    /// Local limits: connMaxTxOctets, connMaxTxTime, connMaxRxOctets, connMaxRxTime.
    private(set) var local = DataLength()
    /// The peer's limits, from its own point of view.
    private(set) var remote = DataLength()
    /// The four effective values.
    private(set) var effective = DataLength()

    /// Lower limit of TX time on LE Coded: the duration of 27 octets with MIC at S=8, in us.
    static let leastCodedTime = 2704

    /// Initial limits from the configuration and the host's suggested values.
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

    /// Maximum supported time: duration of the longest PDU with MIC on the slowest supported PHY.
    static func longestTime(_ configuration: ControllerConfiguration) -> UInt16 {
        let slowest: AirPHY = configuration.features.contains(.leCodedPHY) ? .codedS8 : .le1M
        return UInt16(clamping: slowest.airTime(payload: Int(configuration.maxOctets) + 4).rawValue)
    }

    /// The values for LL_LENGTH_REQ and LL_LENGTH_RSP. A peer without LE Coded gets no longer times than LE 1M needs. Core Vol 6, Part B,
    /// 5.1.9.
    func told(_ peer: PeerKnowledge) -> DataLength {
        var told = local
        guard peer.lacks(.leCodedPHY) else { return told }
        told.maxTxTime = min(told.maxTxTime, Self.longestUncodedTime)
        told.maxRxTime = min(told.maxRxTime, Self.longestUncodedTime)
        return told
    }

    /// Duration of 251 octets with MIC on LE 1M.
    private static let longestUncodedTime: UInt16 = 2120

    mutating func setLocal(octets: UInt16, time: UInt16, _ configuration: ControllerConfiguration) {
        local.maxTxOctets = min(octets, configuration.maxOctets)
        local.maxTxTime = min(time, Self.longestTime(configuration))
    }

    /// Sets the peer's limits from LL_LENGTH_REQ or LL_LENGTH_RSP; values are raised to the mandatory minimum.
    mutating func setRemote(_ reported: DataLength) {
        remote = DataLength(
            maxTxOctets: max(27, reported.maxTxOctets), maxTxTime: max(328, reported.maxTxTime),
            maxRxOctets: max(27, reported.maxRxOctets), maxRxTime: max(328, reported.maxRxTime))
    }

    /// The longest times that both devices allow, on any PHY.
    var agreedTimes: (transmit: Int, receive: Int) {
        (Int(min(local.maxTxTime, remote.maxRxTime)), Int(min(local.maxRxTime, remote.maxTxTime)))
    }

    /// The effective times. On LE Coded, a transmission must also fit into the interval beside the longest reply.
    func times(interval: Microseconds, transmitPHY: PHY, receivePHY: PHY) -> (transmit: Int, receive: Int) {
        let agreed = agreedTimes
        let longestReply = receivePHY == .leCoded ? max(agreed.receive, Self.leastCodedTime) : agreed.receive
        guard transmitPHY == .leCoded else { return (agreed.transmit, longestReply) }
        let receiveOctets = min(local.maxRxOctets, remote.maxTxOctets)
        let required = 2 * Int(interFrameSpace.rawValue) + min(longestReply, Int(receiveOctets) * 64 + 976)
        return (max(min(agreed.transmit, Int(interval.rawValue) - required), Self.leastCodedTime), longestReply)
    }

    /// Updates the effective values.
    ///
    /// - Returns: true if one of them has changed.
    mutating func update(interval: Microseconds, transmitPHY: PHY, receivePHY: PHY) -> Bool {
        let before = effective
        let times = times(interval: interval, transmitPHY: transmitPHY, receivePHY: receivePHY)
        effective = DataLength(
            maxTxOctets: min(local.maxTxOctets, remote.maxRxOctets), maxTxTime: UInt16(clamping: times.transmit),
            maxRxOctets: min(local.maxRxOctets, remote.maxTxOctets), maxRxTime: UInt16(clamping: times.receive))
        return effective != before
    }
}

/// Lengths and times of one device in both directions. Core Vol 6, Part B, 4.5.10.
struct DataLength: Hashable {
    var maxTxOctets: UInt16 = 27
    var maxTxTime: UInt16 = 328
    var maxRxOctets: UInt16 = 27
    var maxRxTime: UInt16 = 328
}
