/// Things a host counts about its controller's conduct; all zero with a good one.
public struct HostCounters: Sendable, Equatable {
    /// Events with a length that does not match, or fields that do not fit.
    public var malformedEvents = 0
    public var unknownEvents = 0
    /// ACL packets whose length does not match or whose fragments make no PDU.
    public var malformedData = 0
    /// ACL packets for handles that never became links.
    public var strayData = 0
    /// ACL packets that came before their connection's event, held and then delivered.
    public var heldData = 0
    /// PDUs on channels that nobody listens to.
    public var unknownChannels = 0
    /// Hardware Error events.
    public var hardwareErrors = 0
    /// Data Buffer Overflow events: the controller lost data that its own credits had let through.
    public var bufferOverflows = 0
    /// Answers to commands that were not outstanding.
    public var strayAnswers = 0
    /// Reports lost because a scan's reader was too slow.
    public var droppedReports = 0
    /// Times that the controller took no new private address.
    public var failedAddressChanges = 0
    /// Advertising reports with bits set that are reserved; they were masked.
    public var reservedBits = 0
    /// Packets that were reported as completed and had not been sent.
    public var excessCredits = 0

    public init() {}
}
