import BBPackets
import Yams

extension SourceReader {
    /// Reads a value: a literal or a reference; `field` describes it and has the names of its values and columns.
    mutating func operand(_ node: Node, field: Vocabulary.Field? = nil) -> Operand {
        valueDepth += 1
        defer { valueDepth -= 1 }
        guard valueDepth <= 24 else {
            report(node, "values are nested too deeply")
            return .literal(.number(0))
        }
        switch node {
        case .scalar(let scalar): return scalarOperand(scalar, node, field: field)
        case .sequence(let sequence): return sequenceOperand(sequence, node, field: field)
        case .mapping: return mappingOperand(node, field: field)
        case .alias: return .literal(.text(""))
        }
    }

    private mutating func sequenceOperand(_ sequence: Node.Sequence, _ node: Node, field: Vocabulary.Field?) -> Operand {
        guard let field else { return .list(sequence.map { operand($0) }) }
        switch field.kind {
        case .octets(let most):
            if let most, sequence.count > most { report(node, "\(field.name) has room for \(most) octets, not \(sequence.count)") }
            let octet = Vocabulary.Field("an octet of \(field.name)", .number(0...255))
            return .list(sequence.map { operand($0, field: octet) })
        case .list: return .list(sequence.map { operand($0, field: field.element.first) })
        case .rows:
            var row = field
            row.kind = .record
            return .list(sequence.map { operand($0, field: row) })
        case .any: return .list(sequence.map { operand($0) })
        case .number, .address, .uuid, .record:
            report(node, "\(field.name) is not a list")
            return .literal(.number(0))
        }
    }

    private mutating func scalarOperand(_ scalar: Node.Scalar, _ node: Node, field: Vocabulary.Field?) -> Operand {
        let text = scalar.string
        if text.hasPrefix("$") { return reference(text, node, field) }
        let number = scalar.style == .plain ? Self.integer(text) : nil
        let truth: Int? = scalar.style == .plain ? (text == "true" ? 1 : text == "false" ? 0 : nil) : nil
        guard let field, field.kind != .any || !field.labels.isEmpty else { return untyped(text, number ?? truth, node) }
        switch field.kind {
        case .number(let span): return numberOperand(text, number, node, field, span)
        case .any: return numberOperand(text, number, node, field, .min ... .max)
        case .octets(let most): return octetsOperand(text, number != nil, node, field, most)
        case .address:
            if CaseValue.text(text).asAddress == nil { report(node, "\(field.name) is an address like C0:B1:BE:00:00:01, not '\(text)'") }
        case .uuid:
            if let number, let short = UInt16(exactly: number) { return .literal(.text("\(BluetoothUUID(short))")) }
            if BluetoothUUID(text) == nil { report(node, "\(field.name) is a UUID like \"2901\" or in full, not '\(text)'") }
        case .list, .rows: report(node, "\(field.name) is a list")
        case .record: report(node, "\(field.name) is a set of `name: value` lines")
        }
        return .literal(.text(text))
    }

    /// Reads a reference, or replaces it with a constant's value.
    mutating func reference(_ text: String, _ node: Node, _ field: Vocabulary.Field?) -> Operand {
        let parts = text.dropFirst().split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        guard let name = parts.first, !parts.contains("") else {
            report(node, "'\(text)' is not a reference; write $name or $name.Field")
            return .literal(.number(0))
        }
        if name == Vocabulary.DeviceShape.name { mentionsDevice = true }
        if parts.count == 1, let constant = constants[name] {
            usedConstants.insert(name)
            return operand(constant, field: field)
        }
        return .reference(Reference(name: name, path: Array(parts.dropFirst()), position: position(node)))
    }

    /// Reads a value of unknown type: a number, a time where times are allowed, or text. Misspelt octets are reported.
    private mutating func untyped(_ text: String, _ number: Int?, _ node: Node) -> Operand {
        if let number { return .literal(.number(number)) }
        if readsTimes, let time = Self.duration(text) { return .literal(.number(Int(time.rawValue))) }
        if Hexadecimal.isMistyped(text) {
            report(node, "'\(text)' is not octets, two hexadecimal digits each; text is written {text: ...}")
        }
        return .literal(.text(text))
    }

    private mutating func numberOperand(_ text: String, _ number: Int?, _ node: Node, _ field: Vocabulary.Field, _ span: ClosedRange<Int>)
        -> Operand
    {
        if let named = field.number(spelt: text) { return .literal(.number(named)) }
        guard let number else {
            if readsTimes, let time = Self.duration(text) { return .literal(.number(Int(time.rawValue))) }
            report(
                node,
                field.labels.isEmpty
                    ? "\(field.name) is a number, not '\(text)'"
                    : "\(field.name) has no value '\(text)'" + Suggestion.text(for: text, among: field.labels.keys))
            return .literal(.number(span.contains(0) ? 0 : span.lowerBound))
        }
        if !span.contains(number) {
            report(node, "\(number) does not fit \(field.name), which holds \(span.lowerBound) to \(span.upperBound)")
        } else if let name = field.spelling(of: number) {
            report(node, "\(field.name) is written by name: \(name) for \(text)")
            problems.indices.last.map { problems[$0].isUnnamedNumber = true }
        }
        return .literal(.number(number))
    }

    private mutating func octetsOperand(_ text: String, _ isNumber: Bool, _ node: Node, _ field: Vocabulary.Field, _ most: Int?) -> Operand
    {
        guard !isNumber else {
            report(node, "\(field.name) is octets, not a number: write them as \"\(text.count % 2 == 0 ? text : "0" + text)\"")
            return .literal(.octets([]))
        }
        guard let octets = Hexadecimal.octets(text) else {
            report(node, "'\(text)' is not octets, two hexadecimal digits each; text is written {text: ...}")
            return .literal(.octets([]))
        }
        if let most, octets.count > most { report(node, "\(field.name) has room for \(most) octets, not \(octets.count)") }
        return .literal(.octets(octets))
    }

    private mutating func mappingOperand(_ node: Node, field: Vocabulary.Field?) -> Operand {
        guard var keys = keys(node, of: "a value") else { return .literal(.number(0)) }
        if keys.has("octet"), keys.has("times") { return fill(&keys, node, field) }
        if keys.has("part"), keys.has("from") { return part(&keys) }
        if keys.entries.count == 1, let field, field.kind.isOctets {
            if let parts = keys.take("join") { return .joined(sequence(parts, "join").map { operand($0, field: field) }) }
            if let address = keys.take("address") { return .address(operand(address, field: .init("address", .address))) }
        }
        if keys.entries.count == 1, let text = keys.take("text") {
            let octets = Array((self.text(text, "text") ?? "").utf8)
            if octets == Array(TestCase.referenceName.utf8) { mentionsReference = true }
            check(octets.count, against: field, node)
            return .literal(.octets(octets))
        }
        guard field == nil || field?.kind == .any || field?.kind == .record else {
            report(node, "\(field?.name ?? "it") is not a set of `name: value` lines")
            return .literal(.number(0))
        }
        return .record(entries(keys, of: field?.name ?? "the value", fields: field?.columns ?? [], fillsIn: field?.kind == .record))
    }

    private mutating func fill(_ keys: inout Keys, _ node: Node, _ field: Vocabulary.Field?) -> Operand {
        let octet = integer(keys.take("octet"), "octet", in: 0...255) ?? 0
        let times = keys.take("times").map { operand($0, field: .init("times", .number(0...65_535))) } ?? .literal(.number(0))
        finish(keys, of: "a fill", allowed: ["octet", "times"])
        if case .literal(.number(let count)) = times { check(count, against: field, node) }
        return .filled(octet: UInt8(truncatingIfNeeded: octet), times: times)
    }

    private mutating func part(_ keys: inout Keys) -> Operand {
        let whole = keys.take("part").map { operand($0) } ?? .literal(.octets([]))
        let start = integer(keys.take("from"), "from", in: 0...0xFFFF) ?? 0
        let length = integer(keys.take("length"), "length", in: 0...0xFFFF)
        finish(keys, of: "a part", allowed: ["part", "from", "length"])
        return .part(of: whole, from: start, length: length)
    }

    /// Checks the number of octets for a field.
    private mutating func check(_ count: Int, against field: Vocabulary.Field?, _ node: Node) {
        switch field?.kind {
        case .octets(let most?) where count > most: report(node, "\(field?.name ?? "") has room for \(most) octets, not \(count)")
        case .octets, .any, nil: break
        default: report(node, "\(field?.name ?? "") does not hold octets")
        }
    }

    /// Reads named values and checks them against the declared fields, if any.
    ///
    /// - Parameter fillsIn: true to add omitted fields whose smallest legal value is not 0.
    mutating func entries(_ keys: Keys, of what: String, fields: [Vocabulary.Field], fillsIn: Bool = false) -> [Operand.Entry] {
        var entries = keys.entries.map { entry in
            let field = fields.first { $0.name == entry.name }
            if field == nil, !fields.isEmpty {
                report(entry.position, "\(what) has no field '\(entry.name)'" + Suggestion.text(for: entry.name, among: fields.map(\.name)))
            }
            return Operand.Entry(name: entry.name, value: operand(entry.node, field: field), position: entry.position)
        }
        if fillsIn { entries += defaults(of: fields, without: entries, at: keys.position) }
        return entries
    }

    /// Returns the omitted fields whose default is not 0.
    func defaults(of fields: [Vocabulary.Field], without given: [Operand.Entry], at position: Position) -> [Operand.Entry] {
        fields.filter { field in field.initial != 0 && !given.contains { $0.name == field.name } }.map { field in
            Operand.Entry(name: field.name, value: .literal(.number(field.initial)), position: position)
        }
    }
}
