import DequeModule
import L2CAP
import Packets

/// The data of a credit-based channel: SDUs are divided into K-frames, each of which uses a credit. Core Vol 3, Part A, 10.
struct CreditBasedFlow {
    enum Action: Equatable {
        case deliver([UInt8])
        /// Gives the peer credits.
        case grant(UInt16)
        /// Disconnects the channel because the peer has violated the rules.
        case close
    }

    private static let mostCredits = 65535

    private(set) var sendMTU: Int
    private(set) var sendMPS: Int
    /// The number of K-frames that this side may send.
    private(set) var credits: Int
    private var waiting = Deque<[UInt8]>()
    /// The SDU being sent, with its length field, and the number of octets sent.
    private var current: ArraySlice<UInt8> = []

    private(set) var settings: CreditBasedChannelSettings
    /// The number of K-frames that the peer may still send.
    private(set) var granted: Int
    private var reassembly = KFrameReassembly()
    private var isClosed = false

    init(_ terms: CreditBasedTerms) {
        sendMTU = Int(terms.sendMTU)
        sendMPS = Int(terms.sendMPS)
        credits = Int(terms.sendCredits)
        settings = terms.settings
        granted = Int(terms.settings.initialCredits)
    }

    // MARK: Sending

    /// The number of SDUs that are not completely sent.
    var queuedSDUs: Int { waiting.count + (current.isEmpty ? 0 : 1) }

    /// Queues an SDU.
    ///
    /// - Parameter sdu: at most the peer's MTU.
    mutating func send(_ sdu: [UInt8]) { waiting.append([UInt8(sdu.count & 0xFF), UInt8(sdu.count >> 8 & 0xFF)] + sdu) }

    /// Returns the next K-frame; nil if there is no data or no credit.
    mutating func nextFrame() -> [UInt8]? {
        guard credits > 0, !isClosed else { return nil }
        if current.isEmpty {
            guard let next = waiting.popFirst() else { return nil }
            current = next[...]
        }
        credits -= 1
        let frame = current.prefix(sendMPS)
        current = current.dropFirst(frame.count)
        return Array(frame)
    }

    /// Processes credits from the peer. Core Vol 3, Part A, 4.24.
    mutating func credited(_ count: UInt16) -> [Action] {
        guard !isClosed else { return [] }
        guard credits + Int(count) <= Self.mostCredits else { return close() }
        credits += Int(count)
        return []
    }

    /// Applies the peer's new MTU and MPS. Core Vol 3, Part A, 4.27.
    mutating func reconfigured(mtu: UInt16, mps: UInt16) { (sendMTU, sendMPS) = (Int(mtu), Int(mps)) }

    // MARK: Receiving

    /// Applies the new MTU and MPS that this side has sent to the peer.
    mutating func accept(mtu: UInt16, mps: UInt16) { (settings.mtu, settings.mps) = (mtu, mps) }

    mutating func received(_ frame: RawSpan) -> [Action] {
        guard !isClosed else { return [] }
        // The SDU length is no part of the payload that the MPS limits. Core Vol 3, Part A, 3.4.3.
        let room = Int(settings.mps) + (reassembly.isBetweenSDUs ? KFrameReassembly.lengthOctets : 0)
        guard granted > 0, frame.byteCount <= room else { return close() }
        granted -= 1
        switch reassembly.take(frame, mtu: Int(settings.mtu)) {
        case .part: return replenish()
        case .sdu(let sdu): return [.deliver(sdu)] + replenish()
        case .fault: return close()
        }
    }

    private mutating func replenish() -> [Action] {
        let target = Int(settings.initialCredits)
        guard settings.grantsCredits, granted * 2 <= target, granted < target else { return [] }
        return grant(UInt16(target - granted))
    }

    /// Gives the peer credits, up to the maximum. Core Vol 3, Part A, 10.1.
    mutating func grant(_ count: UInt16) -> [Action] {
        let count = min(Int(count), Self.mostCredits - granted)
        guard count > 0, !isClosed else { return [] }
        granted += count
        return [.grant(UInt16(count))]
    }

    private mutating func close() -> [Action] {
        isClosed = true
        waiting.removeAll()
        current = []
        reassembly.discard()
        return [.close]
    }
}
