/// The controller's data buffers for one kind of link, as counted by the host. Core Vol 4, Part E, 4.1.
public struct ACLBuffers: Sendable {
    /// HC_ACL_Data_Packet_Length or LE_ACL_Data_Packet_Length.
    public let fragmentLength: Int
    /// Total_Num_(LE_)ACL_Data_Packets.
    public let total: Int
    public private(set) var free: Int
    /// Slot of the link that was served last.
    var lastServed = 0

    public init(fragmentLength: Int, total: Int) {
        self.fragmentLength = fragmentLength
        self.total = total
        free = total
    }

    /// Uses one buffer.
    public mutating func take() { free -= 1 }

    /// Frees buffers reported as completed, but at most those in use.
    public mutating func giveBack(_ count: Int) { free = min(total, free + count) }

    public mutating func giveBackAll() { free = total }
}
