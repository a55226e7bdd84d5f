import BBL2CAP
import BBPackets
import DequeModule

/// The data of a credit-based channel: SDUs are divided into K-frames, each of which uses a credit. Core Vol 3, Part A, 10.
///
/// The peer gets credits as this side's reader takes SDUs, in batches of half the initial number: an unread SDU keeps its credits, and
/// those of an SDU that is not complete return at once, because it may need more frames than there are credits.
struct CreditBasedFlow {
    /// The effect of a received K-frame.
    enum Received: Equatable {
        case part
        /// The frame is a whole SDU: its octets after the SDU length.
        case whole
        /// The last frame of an SDU, which `takeSDU` returns.
        case completed
        /// The channel must be disconnected. Core Vol 3, Part A, 3.4.3 and 10.1.
        case fault(ChannelFault)
    }

    /// A K-frame to send: a part of an SDU.
    struct Frame {
        var sdu: [UInt8]
        var range: Range<Int>
        /// The length of the SDU, if it begins with this frame.
        var length: UInt16?
    }

    private static let mostCredits = 65535
    static let lengthOctets = KFrameReassembly.lengthOctets

    private(set) var sendMTU: Int
    private(set) var sendMPS: Int
    /// The number of K-frames that this side may send.
    private(set) var credits: Int
    private var waiting = Deque<[UInt8]>()
    /// The SDU being sent, and the number of its octets that were sent; nil before its first frame.
    private var current: [UInt8] = []
    private var position: Int?
    private var hasCurrent = false

    private(set) var settings: CreditBasedChannelSettings
    /// The number of K-frames that the peer may still send.
    private(set) var granted: Int
    /// The number of K-frames whose SDUs are complete and unread.
    private(set) var unread = 0
    /// The number of K-frames received of the SDU that is not complete.
    private var frames = 0
    private var reassembly = KFrameReassembly()
    private var isClosed = false

    init(_ terms: CreditBasedTerms) {
        sendMTU = Int(terms.sendMTU)
        sendMPS = Int(terms.sendMPS)
        credits = Int(terms.sendCredits)
        settings = terms.settings
        granted = Int(terms.settings.offeredCredits)
    }

    // MARK: Sending

    /// The number of SDUs that are not completely sent.
    var queuedSDUs: Int { waiting.count + (hasCurrent ? 1 : 0) }

    /// The longest SDU of which every K-frame is full, or the peer's MTU if one frame holds more.
    var fullSDU: Int {
        let frames = (sendMTU + Self.lengthOctets) / sendMPS
        return frames > 0 ? frames * sendMPS - Self.lengthOctets : sendMTU
    }

    /// Queues an SDU.
    ///
    /// - Parameter sdu: at most the peer's MTU.
    mutating func send(_ sdu: [UInt8]) {
        guard !isClosed else { return }
        waiting.append(sdu)
    }

    /// Returns the next K-frame of the queued SDUs; nil if there is no data or no credit.
    mutating func nextFrame() -> Frame? {
        guard credits > 0, !isClosed else { return nil }
        if !hasCurrent {
            guard let next = waiting.popFirst() else { return nil }
            (current, position, hasCurrent) = (next, nil, true)
        }
        credits -= 1
        let range = Self.range(of: current.count, after: position, mps: sendMPS)
        let frame = Frame(sdu: current, range: range, length: position == nil ? UInt16(current.count) : nil)
        position = range.upperBound
        if range.upperBound == current.count { hasCurrent = false }
        return frame
    }

    /// Uses a credit for the next K-frame of an SDU that is not queued; nil if there is no credit or the queue is not empty.
    ///
    /// - Parameter position: the number of octets sent; nil before the first frame.
    mutating func directFrame(of octets: Int, after position: Int?) -> Range<Int>? {
        guard credits > 0, !isClosed, queuedSDUs == 0 else { return nil }
        credits -= 1
        return Self.range(of: octets, after: position, mps: sendMPS)
    }

    /// Queues the rest of an SDU whose first octets were sent by `directFrame`.
    mutating func keep(_ sdu: RawSpan, after position: Int) {
        guard !isClosed else { return }
        current.removeAll(keepingCapacity: true)
        sdu.withUnsafeBytes { current.append(contentsOf: $0) }
        (self.position, hasCurrent) = (position, true)
    }

    private static func range(of octets: Int, after position: Int?, mps: Int) -> Range<Int> {
        guard let position else { return 0..<min(octets, mps - Self.lengthOctets) }
        return position..<min(octets, position + mps)
    }

    /// Processes credits from the peer; returns the fault if they are too many. Core Vol 3, Part A, 4.24.
    mutating func credited(_ count: UInt16) -> ChannelFault? {
        guard !isClosed else { return nil }
        guard credits + Int(count) <= Self.mostCredits else { return close(.tooManyCredits(credits + Int(count))) }
        credits += Int(count)
        return nil
    }

    /// Applies the peer's new MTU and MPS. Core Vol 3, Part A, 4.27.
    mutating func reconfigured(mtu: UInt16, mps: UInt16) { (sendMTU, sendMPS) = (Int(mtu), Int(mps)) }

    // MARK: Receiving

    /// Applies the new MTU and MPS that this side has sent to the peer.
    mutating func accept(mtu: UInt16, mps: UInt16) { (settings.mtu, settings.mps) = (mtu, mps) }

    mutating func received(_ frame: RawSpan) -> Received {
        guard !isClosed else { return .part }
        guard granted > 0 else { return fault(.noCredit) }
        // The SDU length is no part of the payload that the MPS limits. Core Vol 3, Part A, 3.4.3.
        let payload = frame.byteCount - (reassembly.isBetweenSDUs ? Self.lengthOctets : 0)
        guard payload <= Int(settings.mps) else { return fault(.frameTooLong(octets: payload, limit: Int(settings.mps))) }
        granted -= 1
        frames += 1
        switch reassembly.step(frame, mtu: Int(settings.mtu)) {
        case .part: return .part
        case .whole: return complete(.whole)
        case .completed: return complete(.completed)
        case .fault(.noLength): return fault(.noLength)
        case .fault(.lengthExceeded): return fault(.lengthExceeded)
        case .fault(.tooLong): return fault(.sduTooLong(octets: Int(frame.u16(at: 0)), limit: Int(settings.mtu)))
        }
    }

    private mutating func complete(_ outcome: Received) -> Received {
        unread += frames
        completedFrames = frames
        frames = 0
        return outcome
    }

    /// The number of K-frames of the SDU that was completed last.
    private(set) var completedFrames = 0

    /// Returns an SDU that is complete.
    mutating func takeSDU() -> [UInt8] { reassembly.takeSDU() }

    /// Keeps the memory of an SDU for the next one.
    mutating func reuse(_ sdu: consuming [UInt8]) { reassembly.reuse(sdu) }

    /// The reader has taken an SDU of this number of K-frames.
    mutating func read(_ frames: Int) { unread = max(0, unread - frames) }

    /// The credits to give the peer now; 0 if there is no need yet. They count as given.
    mutating func replenish() -> UInt16 {
        let window = Int(settings.initialCredits)
        let need = window - granted - unread
        guard settings.grantsCredits, !isClosed, need > 0, need * 2 >= window else { return 0 }
        guard !settings.grantsForWholeSDUs || frames == 0 else { return 0 }
        return grant(UInt16(need))
    }

    /// Gives the peer credits, up to the maximum; returns their number. Core Vol 3, Part A, 10.1.
    mutating func grant(_ count: UInt16) -> UInt16 {
        let count = min(Int(count), Self.mostCredits - granted)
        guard count > 0, !isClosed else { return 0 }
        granted += count
        return UInt16(count)
    }

    private mutating func fault(_ fault: ChannelFault) -> Received { .fault(close(fault)) }

    private mutating func close(_ fault: ChannelFault) -> ChannelFault {
        isClosed = true
        waiting.removeAll()
        (current, position, hasCurrent) = ([], nil, false)
        reassembly.discard()
        return fault
    }
}
