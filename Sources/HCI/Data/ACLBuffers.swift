/// The controller's buffers for data of one kind of link, as the host counts them. Core Vol 4, Part E, 4.1.
public struct ACLBuffers: Sendable {
    /// HC_ACL_Data_Packet_Length or LE_ACL_Data_Packet_Length.
    public let fragmentLength: Int
    /// Total_Num_(LE_)ACL_Data_Packets.
    public let total: Int
    public private(set) var free: Int
    /// The scheduler's slot after which the next turn begins.
    var lastServed = 0

    public init(fragmentLength: Int, total: Int) {
        self.fragmentLength = fragmentLength
        self.total = total
        free = total
    }

    /// A packet goes to the controller.
    public mutating func take() { free -= 1 }

    /// Buffers are reported as free; more than were in use are not believed.
    public mutating func giveBack(_ count: Int) { free = min(total, free + count) }

    public mutating func giveBackAll() { free = total }
}
