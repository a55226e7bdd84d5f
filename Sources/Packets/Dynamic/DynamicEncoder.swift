/// Encodes values by a declaration. Omitted counts and lengths are calculated; other omitted fields are zero.
struct DynamicEncoder {
    let pdu: String
    /// True to stop at the first missing field instead of writing zero.
    let endsEarly: Bool
    private(set) var bytes: [UInt8] = []

    init(pdu: String, endsEarly: Bool = false) {
        self.pdu = pdu
        self.endsEarly = endsEarly
    }

    /// Encodes the fields; returns false if encoding stopped early.
    mutating func fields(_ declarations: [FieldDeclaration], _ values: [DynamicField]) throws(DynamicPDUError) -> Bool {
        for declaration in declarations {
            guard try field(declaration, declarations, values) else { return false }
        }
        return true
    }

    private mutating func field(_ field: FieldDeclaration, _ all: [FieldDeclaration], _ values: [DynamicField]) throws(DynamicPDUError)
        -> Bool
    {
        let value = values.first { $0.name == field.name }?.value
        switch field.shape {
        case .bits(let octets, let members):
            if endsEarly, let first = members.first, !values.contains(where: { $0.name == first.name }) { return false }
            try bits(octets, members, all, values)
        case .block(let length, let inner): try block(length, inner, values)
        case _ where field.condition != nil && value == nil: break
        case _ where endsEarly && value == nil: return false
        case .rows(_, let inner): return try rows(value, inner, field)
        case .array(_, let element):
            for item in value?.list ?? [] { try scalar(element, item, field) }
        case .integer where value == nil: try scalar(field.shape, .integer(try derived(field.name, all, values) ?? 0), field)
        default: try scalar(field.shape, value, field)
        }
        return true
    }

    private func wrong(_ field: FieldDeclaration, _ reason: String) -> DynamicPDUError {
        .doesNotFit(pdu: pdu, field: field.name, reason: reason)
    }

    private mutating func rows(_ value: FieldValue?, _ inner: [FieldDeclaration], _ field: FieldDeclaration) throws(DynamicPDUError) -> Bool
    {
        for row in value?.list ?? [] {
            guard case .structure(let values) = row else { throw wrong(field, "is a list of structures") }
            guard try fields(inner, values) else { return false }
        }
        return true
    }

    private mutating func bits(_ octets: Int, _ members: [FieldDeclaration], _ all: [FieldDeclaration], _ values: [DynamicField])
        throws(DynamicPDUError)
    {
        var word: Int128 = 0
        var shift: Int128 = 0
        for member in members {
            guard case .bit(let width, _) = member.shape else { continue }
            let given = values.first { $0.name == member.name }?.value.integer
            let value: Int128
            if let given { value = given } else { value = try derived(member.name, all, values) ?? 0 }
            guard value >= 0, value < Int128(1) << Int128(width) else { throw wrong(member, "= \(value) does not fit \(width) bits") }
            word |= value << shift
            shift += Int128(width)
        }
        little(word, octets)
    }

    private mutating func little(_ value: Int128, _ octets: Int) {
        for index in 0..<octets { bytes.append(UInt8(truncatingIfNeeded: value >> Int128(8 * index))) }
    }

    private mutating func scalar(_ shape: FieldDeclaration.Shape, _ value: FieldValue?, _ field: FieldDeclaration) throws(DynamicPDUError) {
        switch shape {
        case .integer(let octets, let signed, let bigEndian, _):
            guard let number = value?.integer else { throw wrong(field, "is a number") }
            let span = Int128(1) << Int128(8 * octets)
            // A signed field also accepts the unsigned value of its octets, so that every bit pattern can be encoded.
            guard number >= (signed ? -span / 2 : 0), number < span else { throw wrong(field, "= \(number) does not fit \(octets) octets") }
            if bigEndian {
                for index in (0..<octets).reversed() { bytes.append(UInt8(truncatingIfNeeded: number >> Int128(8 * index))) }
            } else {
                little(number, octets)
            }
        case .bytes(.fixed(let count)), .reserved(let count): try fixed(count, value, field)
        case .bytes, .uuid:
            guard let octets = value?.octets ?? (value == nil ? [] : nil) else { throw wrong(field, "is octets") }
            bytes += octets
        case .nested(let type):
            guard let nested = PDUCatalog.structure(type) else { return }
            guard let values = value?.structure ?? (value == nil ? [] : nil) else { throw wrong(field, "is a structure") }
            _ = try fields(nested.fields, values)
        case .bits, .bit, .array, .rows, .block: break
        }
    }

    private mutating func fixed(_ count: Int, _ value: FieldValue?, _ field: FieldDeclaration) throws(DynamicPDUError) {
        guard let octets = value?.octets ?? (value == nil ? [] : nil) else { throw wrong(field, "is octets") }
        guard octets.count <= count else { throw wrong(field, "has \(octets.count) octets, room for \(count)") }
        bytes += octets
        bytes += [UInt8](repeating: 0, count: count - octets.count)
    }

    /// Returns the value of a derived count, length or set of flags.
    private func derived(_ name: String, _ all: [FieldDeclaration], _ values: [DynamicField]) throws(DynamicPDUError) -> Int128? {
        var flags: Int128?
        for field in all {
            let value = values.first { $0.name == field.name }?.value
            if let condition = field.condition, condition.field == name {
                flags = (flags ?? 0) | (value == nil ? 0 : Int128(1) << Int128(condition.bit))
            }
            switch field.shape {
            case .bytes(.field(name)), .uuid(.field(name)): return Int128(value?.octets?.count ?? 0)
            case .array(.field(let count), _) where count == name: return Int128(value?.list?.count ?? 0)
            case .rows(.field(let count), _) where count == name: return Int128(value?.list?.count ?? 0)
            case .rows(.restSized(let size, let table), let inner) where size == name:
                guard case .structure(let first) = value?.list?.first else { return table.first.map { Int128($0.key) } ?? 0 }
                var encoder = DynamicEncoder(pdu: pdu)
                _ = try encoder.fields(inner, first)
                let octets = encoder.bytes.count
                return Int128(table.isEmpty ? octets : table.first { $0.octets == octets }?.key ?? 0)
            case .block(let length, let inner) where length == name:
                var encoder = DynamicEncoder(pdu: pdu)
                try encoder.block(length, inner, values)
                return Int128(encoder.bytes.count)
            default: continue
            }
        }
        return flags
    }

    /// Encodes the fields inside a length. A block that would contain only flags of which none is set is empty.
    private mutating func block(_ length: String, _ inner: [FieldDeclaration], _ values: [DynamicField]) throws(DynamicPDUError) {
        let present = inner.contains { field in
            guard let value = values.first(where: { $0.name == field.name })?.value else { return false }
            return value.octets?.isEmpty != true
        }
        guard present else { return }
        _ = try fields(inner, values)
    }
}

private func ~= (pattern: FieldDeclaration.Size, value: FieldDeclaration.Size) -> Bool { pattern == value }
