import Yams

extension SourceReader {
    static let predicateNames = [
        "is", "not", "anyOf", "allOf", "range", "atLeast", "atMost", "mask", "length", "startsWith", "endsWith", "contains", "some", "each",
        "near", "tolerance", "any",
    ]

    /// Predicates on the fields of a PDU or a result.
    mutating func fieldPredicates(_ node: Node?, of what: String, fields: [Vocabulary.Field], isOpen: Bool = false) -> [FieldPredicate] {
        guard let node, let keys = keys(node, of: "the fields of \(what)") else { return [] }
        return keys.entries.map { entry in
            let field = fields.first { $0.name == entry.name }
            if field == nil, !isOpen {
                report(
                    entry.position,
                    fields.isEmpty
                        ? "\(what) has no fields"
                        : "\(what) has no field '\(entry.name)'" + Suggestion.text(for: entry.name, among: fields.map(\.name)))
            }
            return FieldPredicate(name: entry.name, predicate: predicate(entry.node, field: field), position: entry.position)
        }
    }

    /// `5`, or `{range: [1, 5]}` and its like.
    mutating func predicate(_ node: Node, field: Vocabulary.Field? = nil) -> Predicate {
        guard case .mapping = node, var keys = keys(node, of: "a condition") else { return .equals(operand(node, field: field)) }
        if keys.has("text") || keys.has("octet") { return .equals(operand(node, field: field)) }
        if let field, !field.columns.isEmpty, keys.entries.allSatisfy({ entry in field.columns.contains { $0.name == entry.name } }) {
            return .parts(fieldPredicates(node, of: field.name, fields: field.columns))
        }
        if field.map({ $0.columns.isEmpty }) ?? true, !keys.entries.contains(where: { Self.predicateNames.contains($0.name) }),
            !keys.entries.isEmpty
        {
            if let entry = keys.entries.first, field != nil {
                report(
                    entry.position, "there is no condition '\(entry.name)'" + Suggestion.text(for: entry.name, among: Self.predicateNames))
            }
            return .parts(fieldPredicates(node, of: "the value", fields: [], isOpen: true))
        }
        var all: [Predicate] = []
        if let near = keys.take("near") { all.append(nearPredicate(near, keys.take("tolerance"))) }
        if let mask = keys.take("mask") {
            let inner = keys.take("is").map { predicate($0) }
            let bits = integer(mask, "mask") ?? 0
            all.append(.masked(mask: bits, inner ?? .equals(.literal(.number(bits)))))
        }
        for name in Self.predicateNames {
            guard let inner = keys.take(name) else { continue }
            if let one = named(name, inner, field) { all.append(one) }
        }
        finish(keys, of: "a condition", allowed: Self.predicateNames)
        return all.count == 1 ? all[0] : .allOf(all)
    }

    private mutating func named(_ name: String, _ node: Node, _ field: Vocabulary.Field?) -> Predicate? {
        switch name {
        case "is": return predicate(node, field: field)
        case "not": return .not(predicate(node, field: field))
        case "anyOf", "allOf":
            let choices = sequence(node, name).map { predicate($0, field: field) }
            return name == "anyOf" ? .anyOf(choices) : .allOf(choices)
        case "range":
            let limits = sequence(node, name)
            guard limits.count == 2 else {
                report(node, "a range has two limits: [low, high]")
                return nil
            }
            return .range(low: operand(limits[0], field: field), high: operand(limits[1], field: field))
        case "atLeast": return .range(low: operand(node, field: field), high: nil)
        case "atMost": return .range(low: nil, high: operand(node, field: field))
        case "length": return .length(predicate(node))
        case "startsWith": return .starts(with: operand(node))
        case "endsWith": return .ends(with: operand(node))
        case "contains": return .contains(operand(node))
        case "some": return .anyElement(predicate(node, field: field))
        case "each": return .everyElement(predicate(node, field: field))
        case "any": return .any
        default: return nil
        }
    }

    private mutating func nearPredicate(_ node: Node, _ tolerance: Node?) -> Predicate {
        guard let center = integer(node, "near"), let slack = integer(tolerance, "tolerance") else {
            if tolerance == nil { report(node, "near needs a tolerance") }
            return .any
        }
        return .range(low: .literal(.number(center - slack)), high: .literal(.number(center + slack)))
    }
}
