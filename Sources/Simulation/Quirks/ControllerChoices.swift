import BBPackets

/// Behaviour that the specification leaves to a controller. The defaults are what most controllers do.
public struct ControllerChoices: Sendable {
    /// Unsupported optional commands, by opcode. Core Vol 4, Part E, 3.1.
    public var withoutCommands: Set<UInt16> = []
    /// Optional events that are never sent, by their names in the specification. Core Vol 4, Part E, 3.1.
    public var withoutEvents: Set<String> = []
    /// Sends LE_Enhanced_Connection_Complete [v2] unless it is masked. Core Vol 4, Part E, 7.7.65.10.
    public var sendsConnectionCompleteV2 = false
    /// Shares the BR/EDR data buffers: LE_Read_Buffer_Size returns 0. Core Vol 4, Part E, 7.8.2.
    public var sharesBuffers = false
    /// The time that an acknowledged packet may wait for others before its buffer is reported as free. Core Vol 4, Part E, 7.7.19.
    public var creditDelay: Microseconds = 1_250
    /// Number of a link's free buffers that triggers a report; a quarter of all buffers if nil.
    public var creditBatch: Int?
    /// Maximum advertising reports per event, and how long the first may wait for others. Core Vol 4, Part E, 7.7.65.2.
    public var reportsPerEvent = 1
    public var reportDelay: Microseconds = .milliseconds(10)
    /// Reports the RSSI of advertisements as 127, not available. Core Vol 4, Part E, 7.7.65.2.
    public var withholdsRSSI = false
    /// Upper limit of the TX octets used, whatever the host asks for. Core Vol 4, Part E, 7.8.33.
    public var usedOctets: UInt16?
    /// connInitialMaxTxOctets unless the host suggests a value. Core Vol 6, Part B, 4.5.10.
    public var initialOctets: UInt16 = 27
    /// Data channels used as a central. Core Vol 6, Part B, 4.5.8.1.
    public var channels = ChannelMap.all.bits
    /// As a central, continues to use channels that the host classifies as bad. Core Vol 4, Part E, 7.8.19.
    public var ignoresHostChannels = false
    /// As a central, the period of autonomous channel map updates; 0 for none. Core Vol 6, Part B, 5.1.2.
    public var channelMapPeriod: Microseconds = .zero
    /// PHYs accepted when the peer asks; nil for all that the host prefers. Core Vol 6, Part B, 5.1.10.
    public var answeredPHYs: PHYs?
    /// As a peripheral, applies a channel map or a PHY at once if its instant has passed, and keeps the link. Core Vol 6, Part B, 5.5.1.
    public var keepsLinksPastInstants = false
    /// As a central, changes to LE 2M by itself this long after the start of a link, unless its host prefers other PHYs, and reports a request
    /// that changes nothing at once; 0 for never. Core Vol 6, Part B, 5.1.10.
    public var ownPHYDelay: Microseconds = .zero
    /// Rejects all connection parameters that the peer requests. Core Vol 6, Part B, 5.1.7.2.
    public var declinesParameters = false
    /// As a peripheral with latency, listens at every connection event. Core Vol 6, Part B, 4.5.1.
    public var listensAtEveryEvent = false
    /// Range of the pseudo-random advDelay, in microseconds. Core Vol 6, Part B, 4.4.2.2.1.
    public var advertisingDelay: ClosedRange<Int64> = 0...10_000
    /// As an initiator, uses the shortest connection interval in the host's range. Core Vol 4, Part E, 7.8.12.
    public var usesShortestInterval = false
    /// Handle of the first connection. Core Vol 4, Part E, 5.3.1.
    public var firstHandle: UInt16 = 1
    /// Page 0 LMP features that are not supported, as a bit mask. Core Vol 2, Part C, 3.3.
    public var withoutLMPFeatures: UInt64 = 0
    /// Does not support Secure Connections over BR/EDR. Core Vol 2, Part C, 3.3.
    public var lacksSecureConnections = false
    /// Processing time of the link manager per message. Core Vol 2, Part C, 2.6.
    public var linkManagerDelay: Microseconds = .zero
    /// Rejects every role switch that a peer requests. Core Vol 2, Part C, 4.4.2.
    public var refusesRoleSwitch = false
    /// With AES-CCM, sends the same number in every LMP_start_encryption_req. The number has no effect on key and IV. Core Vol 2, Part C,
    /// 4.2.5.3.
    public var repeatsStartNumber = false
    /// Maximum BR/EDR encryption key size, in octets. Core Vol 2, Part C, 4.2.5.2.
    public var longestKey: UInt8 = 16
    /// Uses the longest advertising interval in the host's range. Core Vol 4, Part E, 7.8.5.
    public var usesLongestAdvertisingInterval = false
    /// Duration of high duty cycle directed advertising. Core Vol 6, Part B, 4.4.2.4.3.
    public var highDutyDuration: Microseconds = .milliseconds(1_280)
    /// Rejects an entry for a full resolving list with Memory Capacity Exceeded before it checks if the list is in use. Core Vol 4, Part E,
    /// 7.8.38.
    public var looksForRoomFirst = false
    /// As an extended advertiser with an identity address, sends AUX_CONNECT_RSP under a private address. Core Vol 6, Part B, 6.2.
    public var answersPrivately = false

    public init() {}
}

extension ControllerConfiguration {
    /// Restricts the controller to the features of a Core Specification version.
    ///
    /// - Parameter version: as in the assigned numbers.
    public mutating func limit(to version: UInt8) {
        self.version = version
        features.formIntersection(CoreVersions.features(of: version))
    }
}
