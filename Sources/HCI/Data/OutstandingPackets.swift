import BBPackets

/// Data packets sent to a controller and not reported as completed, per connection handle. Core Vol 4, Part E, 4.1.1 and 7.7.19.
///
/// When a connection ends, its packets count as flushed and their buffers as free, but a controller may still report them as completed. The
/// same holds for packets on an unused handle, which the controller discards.
public struct OutstandingPackets: Sendable {
    /// More packets reported as completed than were outstanding.
    public struct Excess: Sendable, Equatable {
        public var handle: ConnectionHandle
        public var reported: Int
        public var outstanding: Int
        /// True if a packet was ever sent on the handle.
        public var isKnown: Bool
    }

    private var counts: [ConnectionHandle: Int] = [:]

    public init() {}

    /// Counts a data packet sent to the controller.
    public mutating func sent(_ packet: HCIPacket) {
        guard let handle = packet.dataHandle else { return }
        counts[handle, default: 0] += 1
    }

    /// Resets the count for a new connection with a reused handle.
    public mutating func opened(_ handle: ConnectionHandle) { counts[handle] = 0 }

    public mutating func reset() { counts.removeAll() }

    /// Handles Num_Completed_Packets of one handle.
    ///
    /// - Returns: the excess, if more packets are reported than were outstanding.
    public mutating func completed(_ handle: ConnectionHandle, _ count: Int) -> Excess? {
        let outstanding = counts[handle]
        guard count > (outstanding ?? 0) || outstanding == nil else {
            counts[handle, default: 0] -= count
            return nil
        }
        if outstanding != nil { counts[handle] = 0 }
        return Excess(handle: handle, reported: count, outstanding: outstanding ?? 0, isKnown: outstanding != nil)
    }
}
