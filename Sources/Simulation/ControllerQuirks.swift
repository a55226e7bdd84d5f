import Packets

/// Faults planted in a virtual controller; by default it has none.
public struct ControllerQuirks: Sendable {
    /// The gap it leaves before an answer.
    public var interFrameSpace: Microseconds = 150
    /// The octets of CRC it sends.
    public var crcOctets = 3
    /// Exchanges it starts in a connection event although they no longer fit.
    public var extraExchangesPerEvent = 0
    /// As a peripheral with latency, listens at every event.
    public var ignoresPeripheralLatency = false
    /// Sends every new PDU under the sequence number of the one before.
    public var sequenceNumberIsStuck = false
    /// Added to each data channel it hops to.
    public var hopOffset: UInt8 = 0
    /// How many events after the instant it applies a change.
    public var instantOffset = 0
    /// Treats every PDU as acknowledged once it was sent.
    public var neverRetransmits = false
    /// Keeps a silent link for ever.
    public var ignoresSupervisionTimeout = false
    /// The PHYs it answers an LL_PHY_REQ with, in place of those it knows and wants.
    public var phyAnswer: PHYs?
    /// The octets it answers an LL_LENGTH_REQ with.
    public var dataLengthAnswer: UInt16?
    /// Rules for the link layer control PDUs and the events it sends.
    public var rewrites: [PacketRewrite] = []

    public init() {}
}
