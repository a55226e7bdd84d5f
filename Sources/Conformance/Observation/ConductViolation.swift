import BBCapture
import BBCases
import BBTraffic

/// A violation by a controller of the rules that apply in every case: to all commands, events and data, and to control PDUs on the air.
struct ConductViolation: Sendable {
    /// The rule with its section.
    var rule: String
    var text: String
    var evidence: [Evidence]

    /// A violation on the HCI of a side.
    init(_ violation: RuleViolation, of side: Side) {
        self.init(violation, of: side, at: violation.packet.map { "packet \($0.number)" } ?? "on the air")
        guard let shown = violation.packet else { return }
        var decoder = PacketDecoder()
        let decoded = decoder.decode(shown.packet, shown.packet.kind == .command ? .hostToController : .controllerToHost)
        evidence = [Evidence(packet: shown.number, side: side.rawValue, text: decoded.description)]
    }

    /// A violation on the air.
    init(_ violation: RuleViolation, of side: Side, in observation: Observation) {
        self.init(violation, of: side, at: observation.place)
        evidence = [CaseRun.evidence(observation)]
    }

    private init(_ violation: RuleViolation, of side: Side, at place: String) {
        rule = violation.rule
        text = "\(violation.name) of the \(side.rawValue): expected \(violation.wanted), got \(violation.got) (\(place))"
        evidence = []
    }
}
