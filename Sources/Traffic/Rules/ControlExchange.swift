import BBPackets

/// The control PDUs of one link, sent by the controller that is judged and its peer.
///
/// An answer needs a PDU of the peer that it answers, and a request is not sent again before the peer has sent anything. The peer's PDUs
/// count when they are sent, whether they arrive or not, and retransmissions do not count.
struct ControlExchange {
    /// The peer's PDUs that may still be answered, by code.
    private var unanswered: [Int: Int] = [:]
    /// The own requests since the last PDU of the peer.
    private var asked: Set<[UInt8]> = []
    /// The own PDUs that may be sent once.
    private var sentOnce: Set<Int> = []
    /// The instants of own PDUs by code.
    private var instants: [Int: Int] = [:]
    /// The last own PDU; empty if the peer has done more since than accept it.
    private var last: [UInt8] = []
    /// The codes of all own PDUs.
    private(set) var sent: Set<Int> = []

    /// - Parameter accepts: true if the PDU only accepts one of the own.
    mutating func received(_ code: Int, answers: Int = 1, accepts: Bool = false) {
        if !accepts { last = [] }
        unanswered[code, default: 0] += answers
        asked.removeAll()
    }

    /// Notes an answer to one of the peer's PDUs with these codes; returns false if there is none.
    mutating func answers(_ codes: some Sequence<Int>) -> Bool {
        guard let code = codes.first(where: { unanswered[$0, default: 0] > 0 }) else { return false }
        unanswered[code, default: 0] -= 1
        return true
    }

    /// Notes an answer to any PDU of the peer; returns false if there is none.
    mutating func answersAny(of codes: Set<Int>) -> Bool { answers(unanswered.keys.filter { codes.contains($0) }.sorted()) }

    /// Notes a request; returns false for a repetition.
    mutating func asks(_ request: [UInt8]) -> Bool { asked.insert(request).inserted }

    /// Notes a PDU that comes once on a link; returns false if it came before.
    mutating func isFirst(_ code: Int) -> Bool { sentOnce.insert(code).inserted }

    /// Notes an own PDU; returns false if it equals the one before it, which the peer has at most accepted since.
    mutating func isNewStep(_ bytes: [UInt8]) -> Bool {
        defer { last = bytes }
        return bytes != last
    }

    /// Notes an instant; returns false if an earlier PDU with the same code had it.
    mutating func isNew(instant: Int, of code: Int) -> Bool { instants.updateValue(instant, forKey: code) != instant }

    mutating func sends(_ code: Int) { sent.insert(code) }
}
