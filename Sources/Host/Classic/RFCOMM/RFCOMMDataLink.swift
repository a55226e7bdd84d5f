import DequeModule
import Packets

/// A data link connection as one end sees it: how far it is, its credits, and what waits for them.
struct RFCOMMDataLink: Sendable {
    enum Phase: Sendable, Hashable {
        /// The multiplexer comes up first.
        case waiting
        /// PN was sent.
        case awaitParameters
        /// SABM was sent.
        case awaitAcknowledgement
        /// PN was answered; the other side's SABM comes next.
        case negotiated
        case open
        /// DISC was sent, and why the connection ends.
        case awaitDisconnect(RFCOMMEnd)
    }

    var phase: Phase
    /// When SABM or DISC have been unanswered for T1, or SABM has not come.
    var deadline: Microseconds?
    var frameSize = RFCOMMParameters.defaultFrameSize
    var hasCredits = false
    /// Frames with information that may be sent.
    var credits = 0
    /// Frames with information that the other side may send.
    var granted = 0
    /// Whether this side wants frames.
    var isReceiving = true
    /// The other side's FC.
    var isStopped = false
    /// The other side has answered this side's signals, which come before data. RFCOMM 1.2, 5.5.4.
    var isStatusKnown = false
    var portSettings = RFCOMMPortSettings.standard
    private var queue = Deque<[UInt8]>()
    private(set) var queued = 0
    /// The user was told that there is no room.
    var wasFull = false

    init(_ phase: Phase) { self.phase = phase }

    var isOpen: Bool { phase == .open }

    mutating func enqueue(_ octets: [UInt8]) {
        for start in stride(from: 0, to: octets.count, by: frameSize) {
            queue.append(Array(octets[start..<min(octets.count, start + frameSize)]))
        }
        queued += octets.count
    }

    /// The next information to send, if it may be sent.
    mutating func next(isStopped isEverythingStopped: Bool, ignoresCredits: Bool = false) -> [UInt8]? {
        guard isOpen, isStatusKnown, hasCredits ? credits > 0 || ignoresCredits : !isStopped && !isEverythingStopped else { return nil }
        guard let information = queue.popFirst() else { return nil }
        queued -= information.count
        if hasCredits { credits -= 1 }
        return information
    }

    /// Credits to hand over, once half of the window is used.
    mutating func replenish(window: Int) -> UInt8? {
        guard hasCredits, isReceiving, granted <= window / 2, window > granted else { return nil }
        let more = min(window - granted, Int(UInt8.max))
        granted += more
        return UInt8(more)
    }
}
