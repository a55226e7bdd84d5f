import BBPackets

extension PathOutcome {
    /// Finds a procedure that a device begins while it awaits the answer to another one of its own.
    func overlaps() -> [Violation] {
        var open: [LinkRole: PDUID] = [:]
        for pdu in sent {
            guard let id = pdu.opcode.map({ PDUID(.llControl, code: Int($0)) }) else { continue }
            if let asked = open[pdu.role.other], id.refuses != nil || id.answers.contains(asked) { open[pdu.role.other] = nil }
            guard id.beginsProcedure else { continue }
            if let asked = open[pdu.role] {
                return [
                    Violation(
                        .oneAtATime, "the \(pdu.role.rawValue) sends \(id.name) before \(asked.name) is answered", role: pdu.role,
                        name: pdu.name)
                ]
            }
            open[pdu.role] = id
        }
        return []
    }
}
