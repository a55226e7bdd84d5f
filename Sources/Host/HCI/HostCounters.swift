/// Counters of controller misbehaviour; all zero for a good controller.
public struct HostCounters: Sendable, Equatable {
    /// Events with a wrong length or invalid fields.
    public var malformedEvents = 0
    public var unknownEvents = 0
    /// ACL packets with a wrong length, or whose fragments form no PDU.
    public var malformedData = 0
    /// ACL packets for handles that were never reported as connections.
    public var strayData = 0
    /// ACL packets received before the event of their connection, held and then delivered.
    public var heldData = 0
    /// PDUs on channels without a listener.
    public var unknownChannels = 0
    /// Hardware Error events.
    public var hardwareErrors = 0
    /// Data Buffer Overflow events: the controller lost data although its credits were respected.
    public var bufferOverflows = 0
    /// Number of answers to commands that were not outstanding.
    public var strayAnswers = 0
    /// Reports dropped because the reader of a scan was too slow.
    public var droppedReports = 0
    /// Number of private address changes that the controller rejected.
    public var failedAddressChanges = 0
    /// Advertising reports with reserved bits set, which were masked.
    public var reservedBits = 0
    /// Packets reported as completed that had not been sent.
    public var excessCredits = 0

    public init() {}
}
