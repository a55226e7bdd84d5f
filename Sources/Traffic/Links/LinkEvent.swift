import BBPackets

/// A change of a link, or what became of a request on it.
public struct LinkEvent {
    public enum Kind: Sendable, Hashable {
        case opened
        /// The connection parameters changed.
        case parameters
        case phys
        /// The maximum data octets of a packet changed.
        case length
        case mtu
        /// Encryption was switched on or off, or failed to change.
        case encryption(isOn: Bool, ErrorCode)
        /// An ATT response came without a request.
        case unasked(opcode: Int)
        /// An ATT response answers the request before the one that is open, which was answered already.
        case repeated(answer: Int, LinkRequest)
        /// An ATT response does not answer the request that is open.
        case misfit(answer: Int, LinkRequest)
        /// An ATT request or indication was sent before the one before it was answered.
        case overlapping(LinkRequest, LinkRequest)
        /// The controller does not know the handle of the link: the packet that ended it is missing.
        case endMissed
        /// A request was not answered in time, or before the link ended.
        case leftOpen(LinkRequest)
        /// The controller completes none of the packets in its buffers.
        case stalled
        /// The receiver missed packets of an encrypted link.
        case gap
        case ended(Ending)
    }

    /// The reason why a link ended.
    public enum Ending: Sendable, Hashable {
        /// A controller reported the end.
        case disconnected(ErrorCode)
        /// LL_TERMINATE_IND; nil if its sender is unknown.
        case terminated(by: PacketSender?, ErrorCode)
        /// Nobody was received on the air for longer than the supervision timeout, or until the end of the capture.
        case silent
        /// Another link has its handle or its access address.
        case replaced
        /// Its data came before the event that opens it.
        case early
        /// The controller was reset.
        case reset
    }

    public let link: Link
    public let kind: Kind
}

/// The effect of a packet on links.
public struct Followed {
    /// The link of the packet.
    public internal(set) var link: Link?
    /// The end that sent the PDU.
    public internal(set) var sender: PacketSender?
    /// True for an event that reports a new connection, or one that failed to be established.
    public internal(set) var opens = false
    /// True for a packet that a receiver on the air had received before.
    public internal(set) var isRepeated = false
    /// The end of the connection to which data after it belong.
    public internal(set) var ended: Moment?
    /// Changes that precede the packet: links that it replaces, and those that it opens.
    public internal(set) var before: [LinkEvent] = []
    /// Changes that the packet makes.
    public internal(set) var after: [LinkEvent] = []
}
