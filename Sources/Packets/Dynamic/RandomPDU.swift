extension PDUDeclaration {
    /// Returns a PDU with random legal values. Lists have up to four elements, free octets are up to 20.
    public func random(using generator: inout some RandomNumberGenerator) -> DynamicPDU {
        DynamicPDU(self, RandomFields.values(fields, &generator))
    }

    /// Return parameters of a command that are all zero: Success, and empty lists.
    public var zeroReturns: [UInt8] {
        var encoder = DynamicEncoder(pdu: name)
        _ = try? encoder.fields(returns ?? [], [])
        return encoder.bytes
    }

    /// Returns random legal return parameters of a command.
    public func randomReturns(using generator: inout some RandomNumberGenerator) -> [DynamicField] {
        var values = RandomFields.values(returns ?? [], &generator)
        if values.first?.name == "Status" { values[0].value = 0 }
        return values
    }
}

enum RandomFields {
    /// Returns random values; counts and lengths are calculated by the encoder.
    static func values(_ fields: [FieldDeclaration], _ generator: inout some RandomNumberGenerator) -> [DynamicField] {
        let implied = FieldDeclaration.implied(in: fields)
        var values: [DynamicField] = []
        for field in fields {
            if field.condition != nil, Bool.random(using: &generator) { continue }
            switch field.shape {
            case .bits(_, let members):
                for member in members where !implied.contains(member.name) {
                    values.append(DynamicField(member.name, .integer(member.name.hasPrefix("RFU") ? 0 : number(member, &generator))))
                }
            case .block(_, let inner): values += self.values(inner, &generator)
            case .integer where implied.contains(field.name): break
            case .array(let count, let element):
                let list = (0..<length(count, values, &generator)).map { _ in scalar(element, field, &generator) }
                values.append(DynamicField(field.name, .list(list)))
            case .rows(let count, let inner): values.append(DynamicField(field.name, .list(rows(count, inner, values, &generator))))
            default: values.append(DynamicField(field.name, scalar(field.shape, field, &generator)))
            }
        }
        return values
    }

    private static func number(_ field: FieldDeclaration, _ generator: inout some RandomNumberGenerator) -> Int128 {
        if let type = field.type {
            if type.isFlags {
                return type.values.reduce(Int128(0)) { Bool.random(using: &generator) ? $0 | Int128(1) << Int128($1.value) : $0 }
            }
            return type.values.randomElement(using: &generator).map { Int128($0.value) } ?? 0
        }
        if let label = field.labels.randomElement(using: &generator) { return Int128(label.value) }
        if let range = field.range { return Int128(Int.random(in: range, using: &generator)) }
        let mask = Int128(1) << Int128(field.width) - 1
        let bits = Int128(UInt64.random(in: .min ... .max, using: &generator)) & mask
        guard case .integer(let octets, true, _, _) = field.shape else { return bits }
        return bits - Int128(1) << Int128(8 * octets - 1)
    }

    private static func octets(_ count: Int, _ generator: inout some RandomNumberGenerator) -> FieldValue {
        .octets((0..<count).map { _ in UInt8.random(in: .min ... .max, using: &generator) })
    }

    private static func scalar(_ shape: FieldDeclaration.Shape, _ field: FieldDeclaration, _ generator: inout some RandomNumberGenerator)
        -> FieldValue
    {
        switch shape {
        case .bytes(.fixed(let count)): return octets(count, &generator)
        case .bytes(.element):
            let content = octets(Int.random(in: 0...20, using: &generator), &generator).octets ?? []
            return .octets([DataElementHeader.shortSequence, UInt8(content.count)] + content)
        case .bytes: return octets(Int.random(in: 0...20, using: &generator), &generator)
        case .reserved(let count): return .octets([UInt8](repeating: 0, count: count))
        case .uuid: return octets(Bool.random(using: &generator) ? 2 : 16, &generator)
        case .nested(let type):
            return .structure(PDUCatalog.structure(type).map { values($0.fields, &generator) } ?? [])
        case .integer, .bit:
            return .integer(number(field.element ?? field, &generator))
        case .bits, .array, .rows, .block: return .list([])
        }
    }

    private static func length(_ count: FieldDeclaration.Count, _ values: [DynamicField], _ generator: inout some RandomNumberGenerator)
        -> Int
    {
        switch count {
        case .fixed(let count): count
        case .popcount(let name): (values.first { $0.name == name }?.value.integer ?? 0).nonzeroBitCount
        case .field, .rest, .restSized: Int.random(in: 1...4, using: &generator)
        }
    }

    /// Returns rows of equal length: each has as many free octets as the first.
    private static func rows(
        _ count: FieldDeclaration.Count, _ inner: [FieldDeclaration], _ values: [DynamicField],
        _ generator: inout some RandomNumberGenerator
    ) -> [FieldValue] {
        var rows = (0..<length(count, values, &generator)).map { _ in self.values(inner, &generator) }
        if case .restSized = count, let first = rows.first {
            for row in rows.indices {
                for field in rows[row].indices {
                    guard case .octets(let model) = first[field].value, case .octets(let octets) = rows[row][field].value,
                        octets.count != model.count
                    else { continue }
                    rows[row][field].value = Self.octets(model.count, &generator)
                }
            }
        }
        return rows.map { .structure($0) }
    }
}
