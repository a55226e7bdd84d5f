import BBHCI
import BBPackets

/// A connection as its packets show it. A class, because copies for every packet took a third of the time.
public final class Link {
    public enum Kind: Sendable, Hashable {
        case le
        case classic
    }

    public let kind: Kind
    /// The first packet.
    public let opened: Moment
    /// True if the packets begin with the start of the connection.
    public let isComplete: Bool
    /// True for a link on the air, as opposed to one on an HCI.
    public let isOnAir: Bool
    /// For the user of the follower.
    public var number = 0

    /// The handle on the HCI; nil on the air.
    public internal(set) var handle: ConnectionHandle?
    /// The remote device, or the peripheral on the air.
    public internal(set) var peer: DeviceAddress?
    /// Role of the local device on an HCI; nil if unknown.
    public internal(set) var localRole: ConnectionRole?
    /// True if the packets of both ends are mixed, as in a btsnoop file of two controllers.
    public internal(set) var isMerged = false
    public internal(set) var parameters: ConnectionParameters?
    public internal(set) var phys = ByEnd(PHY.le1M)
    /// Maximum data octets of a packet from each end.
    public internal(set) var octets = ByEnd(27)
    /// ATT_MTU; nil before it is exchanged.
    public internal(set) var mtu: Int?
    public internal(set) var isEncrypted = false
    public internal(set) var signs: LinkSigns
    public internal(set) var buffers = BufferUse()
    var requests = OpenRequests()
    var clientMTU: Int?
    /// Lengths in the last LL_LENGTH_REQ.
    var offered: (tx: Int, rx: Int)?
    /// Set by LL_TERMINATE_IND.
    var ending: LinkEvent.Ending?

    init(_ kind: Kind, peer: DeviceAddress? = nil, isComplete: Bool, isOnAir: Bool = false, at moment: Moment) {
        (self.kind, self.peer, self.isComplete, self.isOnAir) = (kind, peer, isComplete, isOnAir)
        opened = moment
        signs = LinkSigns(moment)
    }

    /// The supervision timeout in microseconds; zero if the packets do not show it, as of a BR/EDR link.
    public var timeout: Int64 { Int64(parameters?.supervisionTimeout ?? 0) * 10_000 }

    /// Ends the requests that have waited too long; all of them at the end of the link.
    public func overdue(at time: Int64, isEnd: Bool) -> [LinkEvent] {
        requests.takeOverdue(at: time, isEnd: isEnd).map { LinkEvent(link: self, kind: .leftOpen($0)) }
    }

    /// The events of the end: what was never answered, then the end itself.
    func end(_ ending: LinkEvent.Ending, at time: Int64) -> [LinkEvent] {
        overdue(at: time, isEnd: true) + [LinkEvent(link: self, kind: .ended(ending))]
    }
}

/// Signs of life of a link.
public struct LinkSigns: Sendable {
    /// The last packet of the peer, or of the peripheral on the air.
    public internal(set) var last: Moment
    /// Time at which the peer last advertised since it was last heard; nil if it did not.
    public internal(set) var advertised: Int64?
    /// True if the peer has advertised while it was connected, so that its advertising does not say that it left.
    public private(set) var advertisesAlways = false
    /// Packets on the air by sender, and their last times.
    public internal(set) var fromCentral = 0
    public internal(set) var fromPeripheral = 0
    public internal(set) var fromUnknown = 0
    public internal(set) var lastCentral: Int64?
    public internal(set) var lastPeripheral: Int64
    /// Times of the last completion of packets, and of one at least `endOfLink` before it.
    private var completions: (before: Int64, last: Int64)

    /// At the end of a link, a controller completes the packets that it drops. Those completions are no sign of the peer.
    private static let endOfLink: Int64 = 100_000

    init(_ opened: Moment) {
        (last, lastPeripheral) = (opened, opened.time)
        completions = (opened.time, opened.time)
    }

    mutating func heard(at moment: Moment) {
        last = moment
        if advertised != nil { advertisesAlways = true }
        advertised = nil
    }

    mutating func completed(at time: Int64) {
        if time - completions.last >= Self.endOfLink { completions.before = completions.last }
        completions.last = time
    }

    /// Time of the last sign of the peer before the controller reported the end of the link.
    public func last(before end: Int64) -> Int64 {
        max(last.time, end - completions.last >= Self.endOfLink ? completions.last : completions.before)
    }
}

/// Packets of a link in the buffers of its controller.
public struct BufferUse: Sendable {
    /// Packets sent to the controller and not completed.
    public internal(set) var outstanding = 0
    /// Time of the last progress.
    public internal(set) var progress: Int64 = 0
    /// True if all buffers were in use before the last packet.
    public internal(set) var isStarved = false
    /// True if exactly all buffers are in use.
    public private(set) var isFull = false
    /// True after Number_Of_Completed_Packets, which some captures leave out.
    var hasCompletions = false
    var isStallReported = false
    private var lastSent: Int64 = 0

    private static let stall: Int64 = 5_000_000
    /// Longer where the capture may lack the completions.
    private static let longStall: Int64 = 10_000_000

    mutating func sent(at time: Int64, of buffers: Int?) {
        if outstanding == 0 { progress = time }
        isStarved = buffers.map { outstanding >= $0 } ?? false
        outstanding += 1
        isFull = buffers == outstanding
        lastSent = time
    }

    mutating func completed(_ count: Int, at time: Int64) {
        outstanding = max(0, outstanding - count)
        progress = time
        hasCompletions = true
        if count > 0 { isFull = false }
    }

    /// True once if the controller has completed nothing for too long.
    ///
    /// A host stops when all buffers are in use. One that stops there, and was never told of a completion, shows that none came, even
    /// where the capture has none at all.
    ///
    /// - Parameter hasCompletions: true if the capture has completions of any link of the controller.
    mutating func stalls(at time: Int64, hasCompletions: Bool) -> Bool {
        guard outstanding > 0, !isStallReported else { return false }
        let isCounted = self.hasCompletions || hasCompletions && isFull
        guard isCounted ? time - progress > Self.stall : isFull && time - lastSent > Self.longStall else { return false }
        isStallReported = true
        return true
    }
}
