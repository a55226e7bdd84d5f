import BBPackets

/// Rules about the PDUs of the link manager on any link. Core Vol 2, Part C.
enum LinkManagerRules {
    /// Returns the rule that a PDU violates, or nil.
    ///
    /// - Parameter isOwn: true for a PDU of the controller that is judged.
    static func violation(by pdu: DynamicPDU, _ bytes: [UInt8], _ isOwn: Bool, _ exchange: inout ControlExchange) -> RuleViolation? {
        let id = pdu.id
        guard isOwn else {
            exchange.received(pdu.code, accepts: id.accepts != nil)
            return nil
        }
        defer { exchange.sends(pdu.code) }
        let isNewStep = exchange.isNewStep(bytes)
        if let code = pdu.answeredCode {
            guard !exchange.answers([code]) else { return nil }
            return RuleViolation(
                rule: "A response names a PDU of the peer (Core Vol 2, Part C, 2.5).", pdu.name,
                wanted: "the opcode of a PDU that the peer has sent and that is unanswered", got: "\(code)")
        }
        if id.isAnswer, !id.comesUnasked {
            guard !exchange.answers(id.answers.map(\.code)) else { return nil }
            return RuleViolation(
                rule: "A response is sent once for a request of the peer (Core Vol 2, Part C, 2.5).", pdu.name,
                wanted: "a request of the peer that is unanswered", got: "none")
        }
        if id == LMP.SetupComplete.id, !exchange.isFirst(pdu.code) {
            return RuleViolation(
                rule: "LMP_SETUP_COMPLETE is sent once on a link (Core Vol 2, Part C, 4.1.1).", pdu.name, wanted: "one", got: "another")
        }
        if let instant = instants.lazy.compactMap({ pdu[$0]?.int }).first, !exchange.isNew(instant: instant, of: pdu.code) {
            return RuleViolation(
                rule: "Each change has an instant of its own (\(section(pdu))).", pdu.name, wanted: "another instant than before",
                got: "\(instant) again")
        }
        if !isNewStep, steps.contains(id) {
            return RuleViolation(
                rule: "A step of a procedure is taken once (\(section(pdu))).", pdu.name, wanted: "the next step after it was accepted",
                got: "a repetition")
        }
        if id.isRequest, !exchange.asks(bytes) {
            return RuleViolation(
                rule: "A transaction is started once, and ends before it is started again (Core Vol 2, Part C, 2.5).", pdu.name,
                wanted: "an answer of the peer before it comes again", got: "a repetition")
        }
        return nil
    }

    private static func section(_ pdu: DynamicPDU) -> String { pdu.declaration?.section ?? "Core Vol 2, Part C, 4" }

    private static let instants = ["AFH_Instant", "Switch_Instant"]

    /// PDUs after which a procedure goes on, or ends. Core Vol 2, Part C, 4.2 and 4.6.
    private static let steps: Set<PDUID> = [
        LMP.EncryptionModeReq.id, LMP.StartEncryptionReq.id, LMP.StopEncryptionReq.id, LMP.ResumeEncryptionReq.id, LMP.InRand.id,
        LMP.CombKey.id, LMP.UnitKey.id, LMP.DHKeyCheck.id, LMP.NumericComparisonFailed.id, LMP.RemoveScoLinkReq.id,
        LMP.RemoveEscoLinkReq.id,
    ]
}
