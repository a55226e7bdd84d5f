import Yams

extension SourceReader {
    static let predicateNames = [
        "is", "not", "anyOf", "allOf", "range", "atLeast", "atMost", "mask", "length", "startsWith", "endsWith", "contains", "some", "each",
        "near", "tolerance", "any", "at", "bitsOf",
    ]
    /// Integers inside octets, least significant octet first.
    static let integerNames: [String: (octets: Int, isSigned: Bool)] = [
        "uint8": (1, false), "uint16": (2, false), "uint24": (3, false), "uint32": (4, false), "int8": (1, true), "int16": (2, true),
        "int24": (3, true), "int32": (4, true),
    ]
    private static let ofNumbers = ["range", "atLeast", "atMost", "near", "mask", "bitsOf"]
    private static let ofOctets = ["startsWith", "endsWith", "contains"]
    static let conditionNames = predicateNames + integerNames.keys.sorted()

    /// Reads predicates on the fields of a PDU or a result.
    package mutating func fieldPredicates(
        _ node: Node?, of what: String, fields: [Vocabulary.Field], isOpen: Bool = false
    ) -> [FieldPredicate] {
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

    /// Reads a predicate such as `5` or `{range: [1, 5]}`.
    mutating func predicate(_ node: Node, field: Vocabulary.Field? = nil) -> Predicate {
        valueDepth += 1
        defer { valueDepth -= 1 }
        guard case .mapping = node, valueDepth <= 24, var keys = keys(node, of: "a condition") else {
            return .equals(operand(node, field: field))
        }
        let isMadeOfOctets = field?.kind.isOctets == true && ["join", "address"].contains { keys.has($0) }
        if isMadeOfOctets || ["text", "octet", "part"].contains(where: { keys.has($0) }) { return .equals(operand(node, field: field)) }
        if let field, !field.columns.isEmpty, !keys.entries.isEmpty,
            keys.entries.allSatisfy({ entry in
                field.columns.contains { $0.name == entry.name } || !Self.conditionNames.contains(entry.name)
            })
        {
            return .parts(fieldPredicates(node, of: field.name, fields: field.columns))
        }
        if field?.columns.isEmpty ?? true, let entry = keys.entries.first,
            !keys.entries.contains(where: { Self.conditionNames.contains($0.name) })
        {
            if let field, field.kind != .any || field.isPlain { report(entry.position, Self.unknownCondition(entry.name)) }
            return .parts(fieldPredicates(node, of: "the value", fields: [], isOpen: true))
        }
        return conditions(&keys, node, field)
    }

    static func unknownCondition(_ name: String) -> String {
        "there is no condition '\(name)'" + Suggestion.text(for: name, among: conditionNames)
    }

    private mutating func conditions(_ keys: inout Keys, _ node: Node, _ field: Vocabulary.Field?) -> Predicate {
        var all: [Predicate] = []
        checkSuitability(keys, field)
        if let near = keys.take("near") { all.append(nearPredicate(near, keys.take("tolerance"))) }
        if let mask = keys.take("mask") { all.append(maskPredicate(mask, keys.take("is"), field)) }
        let at = integer(keys.take("at"), "at", in: 0...65_535)
        for (name, form) in Self.integerNames.sorted(by: { $0.key < $1.key }) {
            guard let inner = keys.take(name) else { continue }
            let span = form.isSigned ? -(1 << (8 * form.octets - 1))...(1 << (8 * form.octets - 1)) - 1 : 0...(1 << (8 * form.octets)) - 1
            let condition = predicate(inner, field: .init(name, .number(span)))
            all.append(.integer(at: at ?? 0, octets: form.octets, isSigned: form.isSigned, condition))
        }
        if at != nil, !all.contains(where: \.isInteger) { report(node, "`at` goes with uint8, int16 and the like") }
        for name in Self.predicateNames {
            guard let inner = keys.take(name) else { continue }
            if let one = named(name, inner, field) { all.append(one) }
        }
        finish(keys, of: "a condition", allowed: Self.conditionNames)
        if all.isEmpty { report(node, "the condition is empty") }
        return all.count == 1 ? all[0] : .allOf(all)
    }

    /// Reports conditions that a field of this kind never or always satisfies.
    private mutating func checkSuitability(_ keys: Keys, _ field: Vocabulary.Field?) {
        guard let field, field.kind != .any else { return }
        for entry in keys.entries {
            let complaint: String?
            switch field.kind {
            case .octets where Self.ofNumbers.contains(entry.name):
                complaint = "\(field.name) is octets, not a number; look into it with {uint8: {\(entry.name): ...}} or {int16: ..., at: 2}"
            case .octets where entry.name == "some" || entry.name == "each": complaint = "\(field.name) is octets, not a list"
            case .number where Self.ofOctets.contains(entry.name) || entry.name == "length" || Self.integerNames[entry.name] != nil,
                .number where entry.name == "some" || entry.name == "each":
                complaint = "\(field.name) is a number: '\(entry.name)' says nothing about it"
            case .address where !["is", "not", "anyOf", "allOf", "any"].contains(entry.name),
                .uuid where !["is", "not", "anyOf", "allOf", "any", "length"].contains(entry.name),
                .list where Self.ofNumbers.contains(entry.name) || Self.integerNames[entry.name] != nil,
                .rows
            where Self.ofNumbers.contains(entry.name) || Self.ofOctets.contains(entry.name) || Self.integerNames[entry.name] != nil:
                complaint = "'\(entry.name)' says nothing about \(field.name)"
            default: complaint = nil
            }
            if let complaint { report(entry.position, complaint) }
        }
    }

    private mutating func maskPredicate(_ mask: Node, _ inner: Node?, _ field: Vocabulary.Field?) -> Predicate {
        var bits = 0
        if case .literal(.number(let number)) = operand(mask, field: field) { bits = number } else { report(mask, "mask is a number") }
        return .masked(mask: bits, inner.map { predicate($0, field: field) } ?? .equals(.literal(.number(bits))))
    }

    private mutating func named(_ name: String, _ node: Node, _ field: Vocabulary.Field?) -> Predicate? {
        switch name {
        case "is": return predicate(node, field: field)
        case "not": return .not(predicate(node, field: field))
        case "anyOf", "allOf":
            let choices = sequence(node, name).map { predicate($0, field: field) }
            return name == "anyOf" ? .anyOf(choices) : .allOf(choices)
        case "range": return rangePredicate(node, field)
        case "bitsOf": return .bits(of: operand(node, field: field))
        case "atLeast": return .range(low: operand(node, field: field), high: nil)
        case "atMost": return .range(low: nil, high: operand(node, field: field))
        case "length": return .length(predicate(node, field: .init("length", .number(0...65_535))))
        case "startsWith": return .starts(with: part(node, of: field))
        case "endsWith": return .ends(with: part(node, of: field))
        case "contains": return .contains(part(node, of: field))
        case "some", "each": return elements(name, node, field)
        case "any":
            if !truth(node, "any") { report(node, "`any: true` is the only one") }
            return .any
        default: return nil
        }
    }

    private mutating func rangePredicate(_ node: Node, _ field: Vocabulary.Field?) -> Predicate? {
        let limits = sequence(node, "range")
        guard limits.count == 2 else {
            report(node, "a range has two limits: [low, high]")
            return nil
        }
        let (low, high) = (operand(limits[0], field: field), operand(limits[1], field: field))
        if case .literal(.number(let a)) = low, case .literal(.number(let b)) = high, a > b {
            report(node, "the range is upside down: \(a) is above \(b)")
        }
        return .range(low: low, high: high)
    }

    /// Reads octets, or text for a text result, that a value contains.
    private mutating func part(_ node: Node, of field: Vocabulary.Field?) -> Operand {
        guard case .octets? = field?.kind else { return operand(node) }
        return operand(node, field: .init(field?.name ?? "", .octets(atMost: nil)))
    }

    private mutating func elements(_ name: String, _ node: Node, _ field: Vocabulary.Field?) -> Predicate {
        var element = field
        if field?.kind == .rows { element?.kind = .record }
        if field?.kind == .list { element = field?.element.first }
        let inner = predicate(node, field: element)
        return name == "some" ? .anyElement(inner) : .everyElement(inner)
    }

    private mutating func nearPredicate(_ node: Node, _ tolerance: Node?) -> Predicate {
        let reach = -(1 << 62)...(1 << 62)
        guard let center = integer(node, "near", in: reach), let margin = integer(tolerance, "tolerance", in: 0...(1 << 61)) else {
            if tolerance == nil { report(node, "near needs a tolerance") }
            return .any
        }
        return .range(low: .literal(.number(center - margin)), high: .literal(.number(center + margin)))
    }
}

extension Predicate {
    fileprivate var isInteger: Bool { if case .integer = self { true } else { false } }
}
