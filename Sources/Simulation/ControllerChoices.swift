import Packets

/// What the specification leaves to a controller; by default it does what most do.
public struct ControllerChoices: Sendable {
    /// Optional commands that it does not have, by opcode. Core Vol 4, Part E, 3.1.
    public var withoutCommands: Set<UInt16> = []
    /// Optional events that it never sends, by the specification's names. Core Vol 4, Part E, 3.1.
    public var withoutEvents: Set<String> = []
    /// Sends LE_Enhanced_Connection_Complete [v2] where it is not masked. Core Vol 4, Part E, 7.7.65.10.
    public var sendsConnectionCompleteV2 = false
    /// LE has no data buffers of its own: LE_Read_Buffer_Size reads 0. Core Vol 4, Part E, 7.8.2.
    public var sharesBuffers = false
    /// How long an acknowledged packet may wait for company before its buffer is reported free. Core Vol 4, Part E, 7.7.19.
    public var creditDelay: Microseconds = 1_250
    /// How many free buffers of a link are reported at once; by default a quarter of all.
    public var creditBatch: Int?
    /// How many advertising reports an event may hold, and how long the first of them may wait for others. Core Vol 4, Part E, 7.7.65.2.
    public var reportsPerEvent = 1
    public var reportDelay: Microseconds = .milliseconds(10)
    /// Reports 127 for the signal strength of advertisements: not available. Core Vol 4, Part E, 7.7.65.2.
    public var withholdsRSSI = false
    /// The most octets that it uses of those that the host asks for. Core Vol 4, Part E, 7.8.33.
    public var usedOctets: UInt16?
    /// connInitialMaxTxOctets as long as the host suggests nothing. Core Vol 6, Part B, 4.5.10.
    public var initialOctets: UInt16 = 27
    /// The data channels that it is willing to use as a central. Core Vol 6, Part B, 4.5.8.1.
    public var channels = ChannelMap.all.bits
    /// As a central, keeps channels in use that the host calls bad. Core Vol 4, Part E, 7.8.19.
    public var ignoresHostChannels = false
    /// As a central, changes the channel map of its links so often by itself; zero for never. Core Vol 6, Part B, 5.1.2.
    public var channelMapPeriod: Microseconds = .zero
    /// The PHYs it agrees to when the other side asks; nil for all that its host wants. Core Vol 6, Part B, 5.1.10.
    public var answeredPHYs: PHYs?
    /// Finds no connection parameters acceptable that the other side asks for. Core Vol 6, Part B, 5.1.7.2.
    public var declinesParameters = false
    /// As a peripheral with latency, listens at every event. Core Vol 6, Part B, 4.5.1.
    public var listensAtEveryEvent = false
    /// The pseudo-random advDelay, in microseconds. Core Vol 6, Part B, 4.4.2.2.1.
    public var advertisingDelay: ClosedRange<Int64> = 0...10_000
    /// As an initiator, uses the shortest interval of those that the host leaves to it. Core Vol 4, Part E, 7.8.12.
    public var usesShortestInterval = false
    /// The handle of its first connection. Core Vol 4, Part E, 5.3.1.
    public var firstHandle: UInt16 = 1
    /// Features of page 0 that it does not have, by bits. Core Vol 2, Part C, 3.3.
    public var withoutLMPFeatures: UInt64 = 0
    /// It does not have Secure Connections over BR/EDR. Core Vol 2, Part C, 3.3.
    public var lacksSecureConnections = false
    /// How long its link manager takes to come to a message. Core Vol 2, Part C, 2.6.
    public var linkManagerDelay: Microseconds = .zero
    /// Its link manager lets nobody else switch roles. Core Vol 2, Part C, 4.4.2.
    public var refusesRoleSwitch = false
    /// With AES-CCM, LMP_start_encryption_req always carries the same number, which has no part in key and IV. Core Vol 2, Part C, 4.2.5.3.
    public var repeatsStartNumber = false
    /// The longest encryption key of BR/EDR that it agrees to, in octets. Core Vol 2, Part C, 4.2.5.2.
    public var longestKey: UInt8 = 16
    /// Uses the highest advertising interval that the host leaves to it. Core Vol 4, Part E, 7.8.5.
    public var usesLongestAdvertisingInterval = false
    /// Duration of high duty cycle directed advertising. Core Vol 6, Part B, 4.4.2.4.3.
    public var highDutyDuration: Microseconds = .milliseconds(1_280)
    /// Refuses an entry for a full resolving list with Memory Capacity Exceeded before it looks whether the list is in use. Core Vol 4, Part E, 7.8.38.
    public var looksForRoomFirst = false

    public init() {}
}

extension ControllerConfiguration {
    /// Limits it to what a version of the Core Specification has.
    ///
    /// - Parameter version: as in the assigned numbers.
    public mutating func limit(to version: UInt8) {
        self.version = version
        features.formIntersection(CoreVersions.features(of: version))
    }
}
