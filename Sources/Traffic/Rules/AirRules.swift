import BBPackets

/// Judges the control PDUs that a controller sends on the air, by the rules that apply to every link.
public struct AirRules {
    /// The LE links by access address.
    private var links: [UInt32: Exchange] = [:]
    private var classic = Exchange()

    private struct Exchange {
        var control = ControlExchange()
        var own = LastPacket()
        var others = LastPacket()

        /// Returns true for the first transmission of a packet.
        mutating func isNew(_ sequence: UInt8, _ payload: [UInt8] = [], isOwn: Bool) -> Bool {
            let packet = LastPacket(sequence: sequence, payload: payload)
            defer { if isOwn { own = packet } else { others = packet } }
            return packet != (isOwn ? own : others)
        }
    }

    /// The last packet of an end: a packet with the same sequence number, and the same payload if that counts, is a retransmission.
    private struct LastPacket: Equatable {
        var sequence: UInt8?
        var payload: [UInt8] = []
    }

    public init() {}

    /// Forgets the link over BR/EDR, which has ended.
    public mutating func endClassic() { classic = Exchange() }

    /// Judges a frame.
    ///
    /// - Parameter isOwn: true for a frame of the controller that is judged.
    public mutating func saw(_ frame: AirFrame, isOwn: Bool) -> RuleViolation? {
        guard let pdu = frame.pdu, pdu.kind == .data,
            links[pdu.accessAddress, default: Exchange()].isNew(pdu.sequenceNumber, isOwn: isOwn),
            let octets = frame.controlOctets.map({ Array($0) })
        else { return nil }
        let control = DynamicPDU(layer: .llControl, bytes: octets)
        return LinkLayerRules.violation(by: control, octets, isOwn, &links[pdu.accessAddress, default: Exchange()].control)
            ?? Self.undefinedValue(in: control, isOwn)
    }

    /// Judges a packet with data of a link over BR/EDR.
    ///
    /// - Parameters:
    ///   - sequence: SEQN. A role switch begins the sequence anew, so that the number alone shows no retransmission.
    ///   - message: the LMP message in the payload; nil if there is none.
    public mutating func saw(_ payload: [UInt8], sequence: UInt8, message: [UInt8]?, isOwn: Bool) -> RuleViolation? {
        guard classic.isNew(sequence, payload, isOwn: isOwn), let message else { return nil }
        let pdu = DynamicPDU(layer: .lmp, bytes: message)
        return LinkManagerRules.violation(by: pdu, message, isOwn, &classic.control) ?? Self.undefinedValue(in: pdu, isOwn)
    }

    private static func undefinedValue(in pdu: DynamicPDU, _ isOwn: Bool) -> RuleViolation? {
        guard isOwn, let fault = DefinedValues.fault(inControl: pdu) else { return nil }
        return RuleViolation(
            rule: "Each field has a value that the specification defines (\(pdu.declaration?.section ?? "Core Vol 2, Part C, 5")).",
            pdu.name, wanted: "\(fault.field) \(fault.wanted)", got: fault.got)
    }
}
