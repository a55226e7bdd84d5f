import BBL2CAP
import BBPackets
import BBTiming

@testable import BBHost

/// Two BR/EDR signalling channels and the PDUs in transit between them.
struct SignalingPair {
    var ends: [ClassicSignaling]
    /// Decisions on channel requests of the other end.
    var decisions: [ClassicSignaling.Decision]
    private(set) var mail: [(to: Int, pdu: [UInt8])] = []
    /// Actions reported by each end.
    private(set) var told: [[ClassicSignaling.Action]] = [[], []]
    var now = Microseconds.zero

    init(_ settings: [ClassicSignaling.Settings] = [.init(), .init()], decisions: [ClassicSignaling.Decision]) {
        ends = settings.map { ClassicSignaling($0) }
        self.decisions = decisions
    }

    mutating func connect(psm: UInt16 = 0x1001, _ wanted: ClassicChannelSettings = .init(), from end: Int = 0) -> UInt16? {
        let (cid, actions) = ends[end].connect(psm: psm, wanted, at: now)
        perform(actions, end)
        return cid
    }

    mutating func perform(_ actions: [ClassicSignaling.Action], _ end: Int) {
        for action in actions {
            switch action {
            case .send(let pdu): mail.append((1 - end, pdu))
            case .requested(let cid, _):
                told[end].append(action)
                perform(ends[end].decide(cid, decisions[end], at: now), end)
            case .opened, .closed, .fixedChannels, .features, .echoed, .creditBased: told[end].append(action)
            }
        }
    }

    /// Delivers the oldest PDU, modified by `change`.
    mutating func deliver(_ change: ([UInt8]) -> [UInt8]? = { $0 }) {
        guard !mail.isEmpty else { return }
        let (end, pdu) = mail.removeFirst()
        if let pdu = change(pdu) { perform(ends[end].received(pdu, at: now), end) }
    }

    /// Delivers all PDUs, including new ones.
    mutating func settle() {
        var left = 1_000
        while !mail.isEmpty, left > 0 {
            deliver()
            left -= 1
        }
    }

    /// Advances time to the next deadline; false if there is none.
    mutating func proceed() -> Bool {
        guard let next = ends.compactMap(\.deadline).min() else { return false }
        now = max(now, next)
        for end in 0..<2 { perform(ends[end].expire(at: now), end) }
        return true
    }

    func terms(_ end: Int) -> ChannelTerms? {
        for case .opened(let terms) in told[end].reversed() { return terms }
        return nil
    }

    func ending(_ end: Int) -> ChannelEnd? {
        for case .closed(_, let reason) in told[end] { return reason }
        return nil
    }
}
