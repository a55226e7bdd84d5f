import Packets

/// The data packets that a controller was given and has not reported as completed, for each connection handle. Core Vol 4, Part E, 4.1.1 and 7.7.19.
///
/// When a connection ends, its packets count as flushed and their buffers as free; a controller that reports them all the same is right, too. So it
/// is with packets on a handle that is no connection: the controller throws them away, and may say that it is done with them.
public struct OutstandingPackets: Sendable {
    /// More packets reported as completed than there were.
    public struct Excess: Sendable, Equatable {
        public var handle: ConnectionHandle
        public var reported: Int
        public var outstanding: Int
        /// Whether anything was ever sent on the handle.
        public var isKnown: Bool
    }

    private var counts: [ConnectionHandle: Int] = [:]

    public init() {}

    /// Takes a data packet on its way to the controller.
    public mutating func sent(_ packet: HCIPacket) {
        guard let handle = packet.dataHandle else { return }
        counts[handle, default: 0] += 1
    }

    /// A new connection has nothing outstanding, whatever an old one of that handle left behind.
    public mutating func opened(_ handle: ConnectionHandle) { counts[handle] = 0 }

    public mutating func reset() { counts.removeAll() }

    /// Takes one handle's part of Number Of Completed Packets.
    ///
    /// - Returns: what is wrong with it, if anything is.
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
