/// Writes `validate()`: the check of a command's fields against their declarations.
///
/// Connection handles are excluded: an unknown one has its own error, whatever its value. Flags are excluded because their reserved bits
/// are an unsupported value rather than an illegal one, unless the field limits them itself.
struct ValidationEmitter {
    var fields: StructEmitter

    /// Writes the function. A command without checks uses the protocol's `validate()`; rows have their own only if there is something to
    /// check.
    func validate(_ list: [Field], ofCommand: Bool, _ out: inout SourceText) {
        guard list.contains(where: { isChecked($0) }) else { return }
        out.line("/// Every field against its declared range or values.")
        out.block("public func validate() throws(IllegalValue)") { out in
            for field in list { check(field, list, &out) }
        }
    }

    private func isChecked(_ field: Field) -> Bool {
        if case .rows(_, _, let inner) = field.shape { return inner.contains { isChecked($0) } || legal(field) != nil }
        if case .bits(_, let members) = field.shape { return members.contains { isChecked($0) } }
        return legal(field) != nil
    }

    private func check(_ field: Field, _ list: [Field], _ out: inout SourceText) {
        let name = Naming.escaped(field.name)
        switch field.shape {
        case .rows(_, _, let inner) where inner.contains { isChecked($0) }: out.line("for row in \(name) { try row.validate() }")
        case .bits(_, let members):
            for member in members { check(member, list, &out) }
        case .array(_, let element):
            guard let ranges = legal(field) else { return }
            out.line("for element in \(name) { \(call("element", element, field.name, ranges)) }")
        default:
            guard let ranges = legal(field) else { return }
            out.line(call(field.derived ? fields.derivation(of: field.name, list) : name, field.shape, field.name, ranges))
        }
    }

    private func call(_ value: String, _ shape: Shape, _ name: String, _ ranges: [ClosedRange<Int>]) -> String {
        var value = value
        if case .integer(_, _, _, _?) = shape { value += ".rawValue" }
        if case .bit(_, _?) = shape { value += ".rawValue" }
        let allowed = ranges.map { "\($0.lowerBound)...\($0.upperBound)" }.joined(separator: ", ")
        return "try IllegalValue.check(Int(truncatingIfNeeded: \(value)), \"\(name)\", \(ranges.count == 1 ? allowed : "[\(allowed)]"))"
    }

    /// Returns the legal values of the field: its range and labels, or the named values of its type. Nil if every value is legal, or it
    /// depends on other fields.
    private func legal(_ field: Field) -> [ClosedRange<Int>]? {
        guard !field.notes.isConditional, let (width, signed, named) = integer(field.shape), named != "ConnectionHandle" else { return nil }
        var values = field.notes.labels.map { $0.value...$0.value }
        if let low = field.notes.low, let high = field.notes.high, low <= high { values.append(low...high) }
        if values.isEmpty, let type = named.flatMap({ fields.namedTypes[$0] }), !type.isFlags, type.name != "ErrorCode" {
            values = type.values.map { $0.value...$0.value }
        }
        guard !values.isEmpty else { return nil }
        let whole = signed ? -(1 << (width - 1))...(1 << (width - 1)) - 1 : 0...(width >= 63 ? Int.max : (1 << width) - 1)
        let merged = Self.merged(values)
        return merged == [whole]
            || (merged.count == 1 && merged[0].lowerBound <= whole.lowerBound && merged[0].upperBound >= whole.upperBound)
            ? nil : merged
    }

    private func integer(_ shape: Shape) -> (width: Int, signed: Bool, named: String?)? {
        switch shape {
        case .integer(let octets, let signed, _, let named): (octets * 8, signed, named)
        case .bit(let width, let named) where width > 1: (width, false, named)
        case .array(_, let element): integer(element)
        default: nil
        }
    }

    private static func merged(_ ranges: [ClosedRange<Int>]) -> [ClosedRange<Int>] {
        var result: [ClosedRange<Int>] = []
        for range in ranges.sorted(by: { $0.lowerBound < $1.lowerBound }) {
            if let last = result.last, range.lowerBound <= last.upperBound + 1 {
                result[result.count - 1] = last.lowerBound...max(last.upperBound, range.upperBound)
            } else {
                result.append(range)
            }
        }
        return result
    }
}
