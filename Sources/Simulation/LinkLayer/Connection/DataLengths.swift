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
            let isCodedSupported = configuration.features.contains(.leCodedPHY)
            local = DataLength(
                maxTxOctets: min(defaults.suggestedTxOctets, configuration.maxOctets), maxTxTime: defaults.suggestedTxTime,
                maxRxOctets: configuration.maxOctets,
                maxRxTime: isCodedSupported ? 17_040 : UInt16(clamping: (Int(configuration.maxOctets) + 14) * 8))
        }
        if phy == .leCoded {
            remote.maxTxTime = 2704
            remote.maxRxTime = 2704
            local.maxTxTime = max(local.maxTxTime, 2704)
            local.maxRxTime = max(local.maxRxTime, 2704)
        }
    }

    mutating func setLocal(octets: UInt16, time: UInt16) {
        local.maxTxOctets = octets
        local.maxTxTime = time
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

    /// Computes the effective values. On LE Coded a transmission is also bounded by what the interval leaves beside the longest reply.
    ///
    /// - Returns: whether one of them differs from before.
    mutating func update(interval: Microseconds, transmitPHY: PHY, receivePHY: PHY) -> Bool {
        let before = effective
        let times = agreedTimes
        let receiveOctets = min(local.maxRxOctets, remote.maxTxOctets)
        let longestReply = receivePHY == .leCoded ? max(times.receive, Self.leastCodedTime) : times.receive
        let required = 2 * Int(interFrameSpace.rawValue) + min(longestReply, Int(receiveOctets) * 64 + 976)
        let available = min(times.transmit, Int(interval.rawValue) - required)
        effective = DataLength(
            maxTxOctets: min(local.maxTxOctets, remote.maxRxOctets),
            maxTxTime: UInt16(clamping: transmitPHY == .leCoded ? max(available, Self.leastCodedTime) : times.transmit),
            maxRxOctets: receiveOctets,
            maxRxTime: UInt16(clamping: longestReply))
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
