import BBPackets

/// Rules about the control PDUs of the Link Layer on any link. Core Vol 6, Part B, 5.1.
enum LinkLayerRules {
    /// Returns the rule that a PDU violates, or nil.
    ///
    /// - Parameter isOwn: true for a PDU of the controller that is judged.
    static func violation(by pdu: DynamicPDU, _ bytes: [UInt8], _ isOwn: Bool, _ exchange: inout ControlExchange) -> RuleViolation? {
        let (name, code, id) = (pdu.name, pdu.code, pdu.id)
        guard isOwn else {
            // LL_ENC_REQ may be refused after LL_ENC_RSP, too. Core Vol 6, Part B, 5.1.3.1.
            let isStart = LLControl.StartEncReq.id.answers.contains(id)
            exchange.received(code, answers: isStart ? 2 : 1)
            if isStart { exchange.received(startOfEncryption) }
            return nil
        }
        defer { exchange.sends(code) }
        switch id.refuses {
        case .named: return refusal(pdu.answeredCode, of: name, &exchange)
        case .pending: return exchange.answersAny(of: requests) ? nil : withoutRequest(name)
        case nil: break
        }
        if id == LLControl.VersionInd.id || id.effect == .closes(.link) {
            return exchange.isFirst(code)
                ? nil
                : RuleViolation(
                    rule: "\(name) is sent once on a link (\(pdu.declaration?.section ?? "Core Vol 6, Part B, 2.4.2")).", name,
                    wanted: "one", got: "another")
        }
        if id.isAnswer, !id.comesUnasked, !exchange.answers(awaited(by: id, exchange)) { return withoutRequest(name) }
        if id.beginsProcedure, !exchange.asks(bytes) {
            return RuleViolation(
                rule: "A procedure is started once, and ends before it is started again (Core Vol 6, Part B, 5.2).", name,
                wanted: "an answer of the peer before it comes again", got: "a repetition")
        }
        if let violation = parametersViolation(pdu) ?? physViolation(pdu) { return violation }
        if let instant = instant(of: pdu), !exchange.isNew(instant: instant, of: code) {
            return RuleViolation(
                rule: "Each procedure has an instant of its own (Core Vol 6, Part B, 5.5).", name,
                wanted: "another Instant than before", got: "\(instant) again")
        }
        return nil
    }

    /// Returns the instant of a PDU; nil if it has none, as LL_PHY_UPDATE_IND that changes neither PHY. Core Vol 6, Part B, 5.1.10.
    private static func instant(of pdu: DynamicPDU) -> Int? {
        if pdu.id == LLControl.PHYUpdateInd.id, pdu["PHY_C_TO_P"]?.int == 0, pdu["PHY_P_TO_C"]?.int == 0 { return nil }
        return pdu["Instant"]?.int
    }

    /// Checks the periodicity and the offsets that a device prefers.
    private static func parametersViolation(_ pdu: DynamicPDU) -> RuleViolation? {
        guard let periodicity = pdu["PreferredPeriodicity"]?.int, let longest = pdu["Interval_Max"]?.int else { return nil }
        guard periodicity <= longest else {
            return RuleViolation(
                rule: "The preferred periodicity is at most the longest interval (Core Vol 6, Part B, 2.4.2.16).", pdu.name,
                wanted: "PreferredPeriodicity \(longest) at most", got: "\(periodicity)")
        }
        let offsets = (0...5).compactMap { pdu["Offset\($0)"]?.int }
        let valid = offsets.prefix { $0 != noOffset }
        guard offsets.dropFirst(valid.count).contains(where: { $0 != noOffset }) || Set(valid).count < valid.count else { return nil }
        return RuleViolation(
            rule: "Valid offsets are before invalid ones, and unlike each other (Core Vol 6, Part B, 2.4.2.16).", pdu.name,
            wanted: "other offsets, then \(noOffset)", got: offsets.map(String.init).joined(separator: ", "))
    }

    /// Checks that the PHYs that a device prefers are PHYs.
    private static func physViolation(_ pdu: DynamicPDU) -> RuleViolation? {
        guard pdu.id == LLControl.PHYReq.id || pdu.id == LLControl.PHYRsp.id else { return nil }
        for name in ["TX_PHYS", "RX_PHYS"] {
            guard let phys = pdu[name]?.int, phys & ~definedPHYs != 0 else { continue }
            return RuleViolation(
                rule: "A device prefers PHYs that it supports, and reserved bits are 0 (Core Vol 6, Part B, 5.1.10).", pdu.name,
                wanted: "\(name) with bits of \(definedPHYs)", got: "\(phys)")
        }
        return nil
    }

    /// The value of an offset that is not given.
    private static let noOffset = 0xFFFF
    /// LE 1M, LE 2M and LE Coded.
    private static let definedPHYs = 7

    /// Checks that a refusal is about a PDU of the peer, or about one of its own that the peer has answered.
    private static func refusal(_ code: Int?, of name: String, _ exchange: inout ControlExchange) -> RuleViolation? {
        guard let code, !exchange.answers([code]), !exchange.sent.contains(code) else { return nil }
        return RuleViolation(
            rule: "A refusal names a PDU of the peer (Core Vol 6, Part B, 2.4.2).", name,
            wanted: "the opcode of a PDU that the peer has sent and that is unanswered", got: "\(code)")
    }

    private static func withoutRequest(_ name: String) -> RuleViolation {
        RuleViolation(
            rule: "An answer is sent once for a request of the peer (Core Vol 6, Part B, 5.1).", name,
            wanted: "a request of the peer that is unanswered", got: "none")
    }

    /// The codes of the PDUs that an answer needs. The side that has asked sends some answers back. Core Vol 6, Part B, 5.1.3.
    private static func awaited(by id: PDUID, _ exchange: ControlExchange) -> [Int] {
        if id == LLControl.StartEncReq.id { return [startOfEncryption] }
        let asked = id.answers.map(\.code)
        return id.isReturned && asked.contains(where: exchange.sent.contains) ? [id.code] : asked
    }

    /// A number beyond all opcodes, for the LL_START_ENC_REQ that an LL_ENC_REQ leads to.
    private static let startOfEncryption = 0x100
    private static let requests = Set(PDUCatalog.all.lazy.filter { $0.layer == .llControl && $0.id.isRequest }.map(\.code))
}
