extension DynamicPDU {
    /// A value by path: `Status`, `Reports[0].Address`, `Address[0]` (the field of the row, as in the specification), `Aux_Ptr.AUX_PHY`.
    /// The return parameters of a Command Complete are found by their own names. Case is ignored.
    public subscript(path: String) -> FieldValue? {
        let steps = FieldPath.parse(path)
        guard !steps.isEmpty else { return nil }
        if let value = FieldPath.find(steps[...], in: fields) { return value }
        for field in fields where field.name == "Return_Parameters" {
            if case .structure(let returns) = field.value, let value = FieldPath.find(steps[...], in: returns) { return value }
        }
        return nil
    }

    /// Returns the declaration of the field at a path, with its labels, units and type.
    public func declaration(at path: String) -> FieldDeclaration? {
        declaration?.field(at: path) ?? command?.returns.flatMap { FieldPath.declaration(FieldPath.parse(path)[...], in: $0) }
    }

    /// Sets a field of the PDU to any value.
    public mutating func set(_ name: String, _ value: FieldValue) throws(DynamicPDUError) {
        guard let declaration, let field = declaration.field(named: name) else {
            throw .unknownField(pdu: self.name, name: name, suggestions: Spelling.closest(to: name, among: declaration?.fieldNames ?? []))
        }
        fields.removeAll { $0.name == field.name }
        fields = try declaration.ordered(fields + [DynamicField(field.name, value)], declaration.fields)
    }
}

extension PDUDeclaration {
    /// Returns the declaration of the field at a path.
    public func field(at path: String) -> FieldDeclaration? { FieldPath.declaration(FieldPath.parse(path)[...], in: fields) }

    /// Returns the declaration of the return parameter at a path.
    public func returnField(at path: String) -> FieldDeclaration? {
        returns.flatMap { FieldPath.declaration(FieldPath.parse(path)[...], in: $0) }
    }
}

/// Paths to values: names with optional indices.
enum FieldPath {
    struct Step {
        var name: String
        var index: Int?
    }

    static func parse(_ path: String) -> [Step] {
        path.split(separator: ".").map { part in
            guard let open = part.firstIndex(of: "["), part.last == "]" else {
                return Step(name: Spelling.normal(String(part)), index: nil)
            }
            return Step(name: Spelling.normal(String(part[..<open])), index: Int(part[part.index(after: open)...].dropLast()))
        }
    }

    static func find(_ steps: ArraySlice<Step>, in fields: [DynamicField]) -> FieldValue? {
        guard let step = steps.first else { return nil }
        let later = steps.dropFirst()
        if let field = fields.first(where: { Spelling.normal($0.name) == step.name }) {
            var value = field.value
            if let index = step.index {
                guard case .list(let list) = value, list.indices.contains(index) else { return nil }
                value = list[index]
            }
            guard !later.isEmpty else { return value }
            guard case .structure(let inner) = value else { return nil }
            return find(later, in: inner)
        }
        guard let index = step.index else { return nil }
        for field in fields {
            guard case .list(let list) = field.value, list.indices.contains(index), case .structure(let row) = list[index] else { continue }
            if let value = find([Step(name: step.name, index: nil)] + later, in: row) { return value }
        }
        return nil
    }

    static func declaration(_ steps: ArraySlice<Step>, in fields: [FieldDeclaration]) -> FieldDeclaration? {
        guard let step = steps.first else { return nil }
        let later = steps.dropFirst()
        if let field = PDUDeclaration.find(step.name, fields) {
            guard !later.isEmpty else { return field }
            switch field.shape {
            case .rows(_, let inner): return declaration(later, in: inner)
            case .nested(let type):
                return PDUCatalog.structure(type).flatMap { declaration(later, in: $0.fields) }
            default: return nil
            }
        }
        guard step.index != nil else { return nil }
        for field in fields {
            guard case .rows(_, let inner) = field.shape else { continue }
            if let found = declaration([Step(name: step.name, index: nil)] + later, in: inner) { return found }
        }
        return nil
    }
}
