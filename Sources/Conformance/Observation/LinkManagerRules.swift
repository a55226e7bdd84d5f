import BBCases
import BBPackets

/// Rules about the PDUs of the link manager on any link. Core Vol 2, Part C.
enum LinkManagerRules {
    /// Returns the rule that a PDU violates, or nil.
    ///
    /// - Parameter isOwn: true for a PDU of the controller under test.
    static func fault(of pdu: DynamicPDU, _ bytes: [UInt8], _ isOwn: Bool, _ exchange: inout ControlExchange) -> ControlFault? {
        let id = pdu.id
        guard isOwn else {
            exchange.received(pdu.code, accepts: id.accepts != nil)
            return nil
        }
        defer { exchange.sends(pdu.code) }
        let isNewStep = exchange.isNewStep(bytes)
        if let code = pdu.answeredCode {
            guard !exchange.answers([code]) else { return nil }
            return ControlFault(
                rule: "A response names a PDU of the peer (Core Vol 2, Part C, 2.5).",
                wanted: "the opcode of a PDU that the peer has sent and that is unanswered", got: "\(code)")
        }
        if id.isAnswer, !id.comesUnasked {
            guard !exchange.answers(id.answers.map(\.code)) else { return nil }
            return ControlFault(
                rule: "A response is sent once for a request of the peer (Core Vol 2, Part C, 2.5).",
                wanted: "a request of the peer that is unanswered", got: "none")
        }
        if pdu.name == LMP.SetupComplete.name, !exchange.isFirst(pdu.code) {
            return ControlFault(
                rule: "LMP_SETUP_COMPLETE is sent once on a link (Core Vol 2, Part C, 4.1.1).", wanted: "one", got: "another")
        }
        if let instant = instants.lazy.compactMap({ pdu[$0]?.int }).first, !exchange.isNew(instant: instant, of: pdu.code) {
            return ControlFault(
                rule: "Each change has an instant of its own (\(pdu.declaration?.section ?? "Core Vol 2, Part C, 4")).",
                wanted: "another instant than before", got: "\(instant) again")
        }
        if !isNewStep, steps.contains(pdu.name) {
            return ControlFault(
                rule: "A step of a procedure is taken once (\(pdu.declaration?.section ?? "Core Vol 2, Part C, 4")).",
                wanted: "the next step after it was accepted", got: "a repetition")
        }
        if id.isRequest, !exchange.asks(bytes) {
            return ControlFault(
                rule: "A transaction is started once, and ends before it is started again (Core Vol 2, Part C, 2.5).",
                wanted: "an answer of the peer before it comes again", got: "a repetition")
        }
        return nil
    }

    private static let instants = ["AFH_Instant", "Switch_Instant"]

    /// PDUs after which a procedure goes on, or ends. Core Vol 2, Part C, 4.2 and 4.6.
    private static let steps: Set<String> = [
        LMP.EncryptionModeReq.name, LMP.StartEncryptionReq.name, LMP.StopEncryptionReq.name, LMP.ResumeEncryptionReq.name,
        LMP.InRand.name, LMP.CombKey.name, LMP.UnitKey.name, LMP.DHKeyCheck.name, LMP.NumericComparisonFailed.name,
        LMP.RemoveScoLinkReq.name, LMP.RemoveEscoLinkReq.name,
    ]
}
