import BBPackets
import DequeModule

/// One end of a data link connection: state, credits and transmit queue.
struct RFCOMMDataLink: Sendable {
    enum Phase: Sendable, Hashable {
        /// The multiplexer is being started.
        case waiting
        /// PN was sent.
        case awaitParameters
        /// SABM was sent.
        case awaitAcknowledgement
        /// PN was answered; the peer's SABM is awaited.
        case negotiated
        case open
        /// DISC was sent; contains the reason.
        case awaitDisconnect(RFCOMMEnd)
    }

    var phase: Phase
    /// Expiry of T1 for SABM or DISC, or for the peer's SABM.
    var deadline: Microseconds?
    var frameSize = RFCOMMParameters.defaultFrameSize
    var hasCredits = false
    /// Number of frames with information that may be sent.
    var credits = 0
    /// Number of frames with information that the peer may send.
    var granted = 0
    /// False if this device cannot receive frames.
    var isReceiving = true
    /// FC of the peer.
    var isStopped = false
    /// The peer has responded to this device's modem status, which must precede data. RFCOMM 1.2, 5.5.4.
    var isStatusKnown = false
    var portSettings = RFCOMMPortSettings.standard
    private var queue = Deque<[UInt8]>()
    private(set) var queued = 0
    /// The user was told that the queue is full.
    var wasFull = false

    init(_ phase: Phase) { self.phase = phase }

    var isOpen: Bool { phase == .open }

    mutating func enqueue(_ octets: [UInt8]) {
        for start in stride(from: 0, to: octets.count, by: frameSize) {
            queue.append(Array(octets[start..<min(octets.count, start + frameSize)]))
        }
        queued += octets.count
    }

    /// The next information to send, if allowed.
    mutating func next(isStopped isEverythingStopped: Bool, ignoresCredits: Bool = false) -> [UInt8]? {
        guard isOpen, isStatusKnown, hasCredits ? credits > 0 || ignoresCredits : !isStopped && !isEverythingStopped else { return nil }
        guard let information = queue.popFirst() else { return nil }
        queued -= information.count
        if hasCredits { credits -= 1 }
        return information
    }

    /// Credits to send, once half of the window is used.
    mutating func replenish(window: Int) -> UInt8? {
        guard hasCredits, isReceiving, granted <= window / 2, window > granted else { return nil }
        let more = min(window - granted, Int(UInt8.max))
        granted += more
        return UInt8(more)
    }
}
