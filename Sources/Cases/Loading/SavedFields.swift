import BBPackets

/// The fields of the values that the steps of a file save, so that `check` can take the names of their values.
struct SavedFields {
    private var fields: [String: [Vocabulary.Field]] = [:]

    /// Adds the result of a step. A name that is saved with different fields has none.
    mutating func add(_ name: String, _ saved: [Vocabulary.Field]) {
        fields[name] = fields[name, default: saved] == saved ? saved : []
    }

    /// Returns the field that a reference leads to; nil if it is not known before the case runs, and for an address, whose bits may be
    /// looked at.
    func field(of reference: Reference) -> Vocabulary.Field? {
        var columns = fields[reference.name] ?? []
        var found: Vocabulary.Field? = columns.isEmpty ? nil : Vocabulary.Field(reference.name, .record, columns: columns)
        for part in reference.path {
            if Int(part) != nil, var list = found {
                guard list.kind == .rows || list.kind == .list else { return nil }
                if list.kind == .rows { list.kind = .record }
                found = list.kind == .list ? list.element.first : list
            } else {
                found = columns.first { $0.name == part }
            }
            guard let found else { return nil }
            columns = found.columns
        }
        return found?.kind == .address ? nil : found
    }
}

extension Vocabulary {
    /// The fields of the value that a step saves; nil if they are not known.
    func saved(by kind: Step.Kind) -> [Field]? {
        switch kind {
        case .send(let command):
            guard let pdu = pdus[command.name], Set<Layer>.answered.contains(pdu.layer) else { return nil }
            let status = pdus[HCIEvents.CommandStatus.name]?.fields.first { $0.name == "Status" } ?? Field("Status", .number(0...255))
            let returns = pdu.returns ?? []
            return pdu.layer != .hciCommands || returns.contains { $0.name == status.name } ? returns : returns + [status]
        case .expect(let expectation), .until(let expectation, _, _):
            guard let pdu = pdus[expectation.name] else { return nil }
            guard let rows = expectation.listSearched, var match = pdu.fields.first(where: { $0.name == rows.name }) else {
                return pdu.fields
            }
            match.name = Expectation.match
            match.kind = .record
            return pdu.fields + [match]
        case .air(let air): return air.operation == .expect ? pdus[air.name]?.fields : nil
        case .action(let action): return actions[action.name]?.resultFields
        case .expectNone, .measure, .check, .wait, .mark, .repeated, .each, .attempts, .parallel, .either, .procedure: return nil
        }
    }
}
