import BBCases
import BBPackets

/// Rules about the PDUs of the link manager on any link. Core Vol 2, Part C.
enum LinkManagerRules {
    /// Returns the rule that a PDU violates, or nil.
    ///
    /// - Parameter isOwn: true for a PDU of the controller under test.
    static func fault(of pdu: DynamicPDU, _ bytes: [UInt8], _ isOwn: Bool, _ exchange: inout ControlExchange) -> ControlFault? {
        guard isOwn else {
            exchange.received(pdu.code, accepts: pdu.name == LMP.Accepted.name || pdu.name == LMP.AcceptedExt.name)
            return nil
        }
        defer { exchange.sends(pdu.code) }
        let isNewStep = exchange.isNewStep(bytes)
        if let code = answered(by: pdu) {
            guard !exchange.answers([code]) else { return nil }
            return ControlFault(
                rule: "A response names a PDU of the peer (Core Vol 2, Part C, 2.5).",
                wanted: "the opcode of a PDU that the peer has sent and that is unanswered", got: "\(code)")
        }
        if let request = requests[pdu.name] {
            guard !exchange.answers([request]) else { return nil }
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
        if awaitsAnswer.contains(pdu.name), !exchange.asks(bytes) {
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

    /// The code of the PDU that a general response is about.
    private static func answered(by pdu: DynamicPDU) -> Int? {
        switch pdu.name {
        case LMP.Accepted.name, LMP.NotAccepted.name: return pdu["Opcode"]?.int
        case LMP.AcceptedExt.name, LMP.NotAcceptedExt.name:
            guard let escape = pdu["Escape_Opcode"]?.int, let opcode = pdu["Extended_Opcode"]?.int else { return nil }
            return escape << 8 | opcode
        default: return nil
        }
    }

    private static let codes = Dictionary(
        PDUCatalog.all.lazy.filter { $0.layer == .lmp }.map { ($0.name, $0.code) }, uniquingKeysWith: { first, _ in first })

    /// The code of the request that a response answers, by the name of the response.
    private static let requests: [String: Int] = {
        var requests: [String: Int] = [LMP.SRES.name: Int(LMP.AuRand.opcode)]
        for name in codes.keys where name.hasSuffix("_RES") || name.hasSuffix("_RES_EXT") {
            requests[name] = codes[name.replacing("_RES", with: "_REQ")]
        }
        return requests
    }()

    /// Requests that the peer answers. The power requests are answered at the end of the range only. Core Vol 2, Part C, 4.1.3.
    private static let awaitsAnswer: Set<String> = Set(
        codes.keys.filter { $0.hasSuffix("_REQ") || $0.hasSuffix("_REQ_EXT") } + [LMP.AuRand.name, LMP.InRand.name]
    ).subtracting([LMP.IncrPowerReq.name, LMP.DecrPowerReq.name])
}
