import Yams

extension SourceReader {
    /// A value: written out, or a reference; `field` brings the names of its values and columns.
    mutating func operand(_ node: Node, field: Vocabulary.Field? = nil) -> Operand {
        switch node {
        case .scalar(let scalar): return scalarOperand(scalar, node, field: field)
        case .sequence(let sequence):
            let element = field.map { $0.columns.isEmpty ? $0 : Vocabulary.Field($0.name, columns: $0.columns) }
            return .list(sequence.map { operand($0, field: element) })
        case .mapping: return mappingOperand(node, field: field)
        case .alias: return .literal(.text(""))
        }
    }

    private mutating func scalarOperand(_ scalar: Node.Scalar, _ node: Node, field: Vocabulary.Field?) -> Operand {
        let text = scalar.string
        if text.hasPrefix("$") {
            let parts = text.dropFirst().split(separator: ".", omittingEmptySubsequences: false).map(String.init)
            guard let name = parts.first, !parts.contains("") else {
                report(node, "'\(text)' is no reference; write $name or $name.Field")
                return .literal(.number(0))
            }
            references.append((name, position(node)))
            return .reference(Reference(name: name, path: Array(parts.dropFirst()), position: position(node)))
        }
        if scalar.style == .plain, let number = Self.integer(text) { return .literal(.number(number)) }
        if readsTimes, let time = Self.duration(text) { return .literal(.number(Int(time.rawValue))) }
        if scalar.style == .plain, text == "true" { return .literal(.number(1)) }
        if scalar.style == .plain, text == "false" { return .literal(.number(0)) }
        if let field, !field.labels.isEmpty {
            if let number = field.labels[text] { return .literal(.number(number)) }
            if Hexadecimal.octets(text) == nil {
                report(node, "\(field.name) has no value '\(text)'" + Suggestion.text(for: text, among: field.labels.keys))
            }
        }
        return .literal(.text(text))
    }

    private mutating func mappingOperand(_ node: Node, field: Vocabulary.Field?) -> Operand {
        guard var keys = keys(node, of: "a value") else { return .literal(.number(0)) }
        if keys.has("octet"), keys.has("times") {
            let octet = integer(keys.take("octet"), "octet") ?? 0
            let times = keys.take("times").map { operand($0) } ?? .literal(.number(0))
            finish(keys, of: "a fill", allowed: ["octet", "times"])
            return .filled(octet: UInt8(truncatingIfNeeded: octet), times: times)
        }
        if keys.entries.count == 1, let text = keys.take("text") {
            return .literal(.octets(Array((self.text(text, "text") ?? "").utf8)))
        }
        return .record(entries(keys, of: field?.name ?? "the value", fields: field.map(\.columns) ?? []))
    }

    /// Named values, checked against the declared fields when there are any.
    mutating func entries(_ keys: Keys, of what: String, fields: [Vocabulary.Field]) -> [Operand.Entry] {
        keys.entries.map { entry in
            let field = fields.first { $0.name == entry.name }
            if field == nil, !fields.isEmpty {
                report(entry.position, "\(what) has no field '\(entry.name)'" + Suggestion.text(for: entry.name, among: fields.map(\.name)))
            }
            return Operand.Entry(name: entry.name, value: operand(entry.node, field: field), position: entry.position)
        }
    }
}
