import BBCases
import BBTraffic

/// Judges what a controller sends on the simulated air by the rules that apply in every case, and keeps the first violation.
struct AirConduct {
    private(set) var violation: ConductViolation?
    /// True if a case has changed what a side sends, so that no rule can be applied to the answers.
    var isSuspended = false
    private let side: Side
    private var rules = AirRules()

    init(of side: Side) { self.side = side }

    /// Forgets the link over BR/EDR, which has ended.
    mutating func endClassic() { rules.endClassic() }

    mutating func saw(_ observation: Observation) {
        guard !isSuspended, violation == nil else { return }
        let isOwn = observation.side == side
        let found: RuleViolation?
        switch observation.content {
        case .air(let frame): found = rules.saw(frame, isOwn: isOwn)
        case .baseband(let packet) where observation.name == BasebandPacket.name:
            guard packet.seen.ltAddr != 0, packet.seen.logicalLink != nil else { return }
            found = rules.saw(packet.seen.payload, sequence: packet.seen.seqn ? 1 : 0, message: packet.seen.message, isOwn: isOwn)
        case .baseband, .event, .upper, .voice, .upperTester: return
        }
        violation = found.map { ConductViolation($0, of: side, in: observation) }
    }
}
