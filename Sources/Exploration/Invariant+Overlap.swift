import BBPackets

extension PathOutcome {
    /// Control PDUs that begin a procedure, with those of the peer that answer them.
    private static let answers: [UInt8: Set<UInt8>] = [
        LLControl.FeatureReq.opcode: [LLControl.FeatureRsp.opcode],
        LLControl.PeripheralFeatureReq.opcode: [LLControl.FeatureRsp.opcode],
        LLControl.LengthReq.opcode: [LLControl.LengthRsp.opcode],
        LLControl.PingReq.opcode: [LLControl.PingRsp.opcode],
        LLControl.PHYReq.opcode: [LLControl.PHYRsp.opcode, LLControl.PHYUpdateInd.opcode],
        LLControl.ConnectionParamReq.opcode: [LLControl.ConnectionParamRsp.opcode, LLControl.ConnectionUpdateInd.opcode],
        LLControl.EncReq.opcode: [LLControl.EncRsp.opcode],
        LLControl.PauseEncReq.opcode: [LLControl.PauseEncRsp.opcode],
    ]
    private static let rejections: Set<UInt8> = [
        LLControl.RejectInd.opcode, LLControl.RejectExtInd.opcode, LLControl.UnknownRsp.opcode,
    ]

    /// Finds a procedure that a device begins while it awaits the answer to another one of its own.
    func overlaps() -> [Violation] {
        var open: [LinkRole: UInt8] = [:]
        for pdu in sent {
            guard let opcode = pdu.opcode else { continue }
            if let asked = open[pdu.role.other], Self.rejections.contains(opcode) || Self.answers[asked]?.contains(opcode) == true {
                open[pdu.role.other] = nil
            }
            guard Self.answers[opcode] != nil else { continue }
            if let asked = open[pdu.role] {
                let first = PDUCatalog.declaration(layer: .llControl, code: Int(asked))?.name ?? "a request"
                return [
                    Violation(
                        .oneAtATime, "the \(pdu.role.rawValue) sends \(pdu.name ?? "a request") before \(first) is answered",
                        role: pdu.role, name: pdu.name)
                ]
            }
            open[pdu.role] = opcode
        }
        return []
    }
}
