import BBCases
import BBPackets
import BBTraffic

/// Judges the control PDUs that a controller sends on the simulated air by the rules that apply in every case, and keeps the first violation.
struct AirConduct {
    private(set) var violation: ConductViolation?
    /// True if a case has changed what a side sends, so that no rule can be applied to the answers.
    var isSuspended = false
    private let side: Side
    /// The LE links by access address.
    private var links: [UInt32: Link] = [:]
    private var classic = Link()

    private struct Link {
        var exchange = ControlExchange()
        /// The last packet with data of each side: a packet with the same sequence number is a retransmission.
        var last: [Side: (sequence: Bool, payload: [UInt8])] = [:]

        /// Returns true for the first transmission of a packet.
        mutating func isNew(_ payload: [UInt8], _ sequence: Bool, of side: Side, comparing: Bool) -> Bool {
            defer { last[side] = (sequence, payload) }
            guard let before = last[side] else { return true }
            return before.sequence != sequence || comparing && before.payload != payload
        }
    }

    init(of side: Side) { self.side = side }

    /// Forgets the link over BR/EDR, which has ended.
    mutating func endClassic() { classic = Link() }

    mutating func saw(_ observation: Observation) {
        guard !isSuspended, violation == nil else { return }
        switch observation.content {
        case .air(let frame): saw(observation, frame)
        case .baseband(let packet) where observation.name == BasebandPacket.name:
            guard packet.seen.ltAddr != 0, packet.seen.logicalLink != nil else { return }
            // A role switch begins the sequence anew: a number alone is not enough.
            guard classic.isNew(packet.seen.payload, packet.seen.seqn, of: observation.side, comparing: true),
                let message = packet.seen.message
            else { return }
            let pdu = DynamicPDU(layer: .lmp, bytes: message)
            let fault = LinkManagerRules.fault(of: pdu, message, observation.side == side, &classic.exchange)
            note(fault ?? valueFault(in: pdu, observation), observation)
        case .baseband, .event, .upper, .voice, .upperTester: break
        }
    }

    private mutating func saw(_ observation: Observation, _ frame: AirFrame) {
        guard let pdu = frame.pdu, pdu.kind == .data,
            links[pdu.accessAddress, default: Link()].isNew([], pdu.sequenceNumber == 1, of: observation.side, comparing: false),
            let octets = frame.controlOctets.map({ Array($0) })
        else { return }
        let control = DynamicPDU(layer: .llControl, bytes: octets)
        let fault = LinkLayerRules.fault(
            of: control, octets, observation.side == side, &links[pdu.accessAddress, default: Link()].exchange)
        note(fault ?? valueFault(in: control, observation), observation)
    }

    private func valueFault(in pdu: DynamicPDU, _ observation: Observation) -> ControlFault? {
        guard observation.side == side, let fault = DefinedValues.fault(inControl: pdu) else { return nil }
        return ControlFault(
            rule: "Each field has a value that the specification defines (\(pdu.declaration?.section ?? "Core Vol 2, Part C, 5")).",
            wanted: "\(fault.field) \(fault.wanted)", got: fault.got)
    }

    private mutating func note(_ fault: ControlFault?, _ observation: Observation) {
        guard let fault else { return }
        violation = ConductViolation(
            rule: fault.rule,
            text: "\(observation.name) of the \(side.rawValue): expected \(fault.wanted), got \(fault.got) (\(observation.place))",
            evidence: [CaseRun.evidence(observation)])
    }
}

/// A violation of a rule about control PDUs.
struct ControlFault {
    /// The rule with its section.
    var rule: String
    var wanted: String
    var got: String
}
