/// Decodes octets by a declaration. It stops at the first invalid field and keeps the fields decoded before.
struct FieldDecoder {
    private let bytes: [UInt8]
    private let limits: Range<Int>
    private var position: Int
    private var end: Int
    private(set) var problem: PDUError?

    /// Decodes a part of the octets; the fields' ranges refer to all octets.
    init(_ bytes: [UInt8], _ range: Range<Int>) {
        self.bytes = bytes
        limits = range
        position = range.lowerBound
        end = range.upperBound
    }

    var remaining: Int { end - position }

    /// The octets that have not been read.
    var rest: Range<Int> { position..<limits.upperBound }

    /// Returns the values in order; after a problem the last row may be incomplete.
    mutating func fields(_ declarations: [FieldDeclaration]) -> [DecodedField] {
        var values: [DecodedField] = []
        values.reserveCapacity(declarations.count)
        for declaration in declarations {
            guard problem == nil else { break }
            if let condition = declaration.condition {
                let flags = Self.integer(condition.field, values) ?? 0
                if flags >> Int128(condition.bit) & 1 == 0 { continue }
            }
            read(declaration, &values)
        }
        DecodedField.tellAddressKinds(&values)
        return values
    }

    private static func integer(_ name: String, _ values: [DecodedField]) -> Int128? { values.named(name)?.integer }

    private mutating func take(_ count: Int, _ field: String) -> Range<Int>? {
        guard count >= 0, count <= remaining else {
            problem = problem ?? error(field, .short(needed: max(count, 0), left: remaining))
            return nil
        }
        defer { position += count }
        return position..<position + count
    }

    private func error(_ field: String, _ problem: PDUError.Problem) -> PDUError {
        PDUError(field: field, offset: position - limits.lowerBound, problem: problem)
    }

    private mutating func number(_ octets: Int, signed: Bool, bigEndian: Bool, _ field: String) -> (Int128, Range<Int>)? {
        guard let taken = take(octets, field) else { return nil }
        var word: UInt64 = 0
        for index in 0..<octets {
            word = word << 8 | UInt64(bytes[bigEndian ? taken.lowerBound + index : taken.upperBound - 1 - index])
        }
        guard signed, octets > 0, octets < 8 else { return (signed ? Int128(Int64(bitPattern: word)) : Int128(word), taken) }
        return (Int128(Int64(bitPattern: word << UInt64(64 - 8 * octets)) >> Int64(64 - 8 * octets)), taken)
    }

    private mutating func read(_ field: FieldDeclaration, _ values: inout [DecodedField]) {
        switch field.shape {
        case .bits(let octets, let members): bits(octets, members, &values)
        case .bit: break
        case .array(let count, _):
            guard let element = field.element else { return }
            values.append(list(field, count, values) { (decoder: inout FieldDecoder) in decoder.scalar(element, values) })
        case .rows(let count, let inner):
            let rows = list(field, count, values) { (decoder: inout FieldDecoder) in
                let start = decoder.position
                let row = decoder.fields(inner)
                return row.isEmpty ? nil : DecodedField(field, .structure, start..<decoder.position, children: row)
            }
            values.append(rows)
        case .block(let length, let inner): block(Int(Self.integer(length, values) ?? 0), inner, field.name, &values)
        default: if let value = scalar(field, values) { values.append(value) }
        }
    }

    private mutating func bits(_ octets: Int, _ members: [FieldDeclaration], _ values: inout [DecodedField]) {
        guard let (word, range) = number(octets, signed: false, bigEndian: false, members.first?.name ?? "") else { return }
        var shift: Int128 = 0
        for member in members {
            guard case .bit(let width, _) = member.shape else { continue }
            values.append(DecodedField(member, .integer(word >> shift & (Int128(1) << Int128(width) - 1)), range))
            shift += Int128(width)
        }
    }

    private mutating func scalar(_ field: FieldDeclaration, _ values: [DecodedField]) -> DecodedField? {
        switch field.shape {
        case .integer(let octets, let signed, let bigEndian, _):
            return number(octets, signed: signed, bigEndian: bigEndian, field.name).map { DecodedField(field, .integer($0.0), $0.1) }
        case .bytes(let size): return octets(octets(size, values), field)
        case .uuid(let size):
            let count = octets(size, values)
            guard [2, 4, 16].contains(count) || count > remaining else {
                problem = problem ?? error(field.name, .value("a UUID has 2, 4 or 16 octets, not \(count)"))
                return nil
            }
            return octets(count, field)
        case .reserved(let count): return octets(count, field)
        case .nested(let type):
            guard let nested = PDUCatalog.structure(type) else { return nil }
            let start = position
            let fields = self.fields(nested.fields)
            return fields.isEmpty ? nil : DecodedField(field, .structure, start..<position, children: fields)
        case .bits, .bit, .array, .rows, .block: return nil
        }
    }

    private mutating func octets(_ count: Int, _ field: FieldDeclaration) -> DecodedField? {
        guard let taken = take(count, field.name) else { return nil }
        var decoded = DecodedField(field, .octets(Array(bytes[taken])), taken)
        if case .advertisingData = field.format { decoded.children = AdvertisingStructure.fields(bytes, taken) }
        return decoded
    }

    private func octets(_ size: FieldDeclaration.Size, _ values: [DecodedField]) -> Int {
        switch size {
        case .fixed(let octets): octets
        case .rest: remaining
        case .restLeaving(let tail): max(0, remaining - tail)
        case .field(let name): Int(Self.integer(name, values) ?? 0)
        case .element: DataElementHeader.octets(of: bytes[position..<end])
        }
    }

    private mutating func list(
        _ field: FieldDeclaration, _ count: FieldDeclaration.Count, _ values: [DecodedField],
        _ element: (inout FieldDecoder) -> DecodedField?
    ) -> DecodedField {
        let start = position
        var elements: [DecodedField] = []
        switch count {
        case .fixed, .field, .popcount:
            for _ in 0..<number(of: count, values) where problem == nil {
                if let value = element(&self) { elements.append(value) }
            }
        case .rest:
            while remaining > 0, problem == nil {
                guard let value = element(&self) else { break }
                elements.append(value)
            }
        case .restSized(let sizeName, let table):
            let size = Int(Self.integer(sizeName, values) ?? 0)
            let octets = table.isEmpty ? size : table.first { $0.key == size }?.octets ?? 0
            while remaining > 0, problem == nil {
                guard octets > 0, octets <= remaining else {
                    problem = error(field.name, .short(needed: max(1, octets), left: remaining))
                    break
                }
                let outer = end
                end = position + octets
                if let value = element(&self) { elements.append(value) }
                if problem == nil, remaining > 0 { problem = error(field.name, .trailing(remaining)) }
                end = outer
            }
        }
        return DecodedField(field, .list, start..<position, children: elements)
    }

    private func number(of count: FieldDeclaration.Count, _ values: [DecodedField]) -> Int {
        switch count {
        case .fixed(let count): count
        case .field(let name): Int(Self.integer(name, values) ?? 0)
        case .popcount(let name): (Self.integer(name, values) ?? 0).nonzeroBitCount
        case .rest, .restSized: 0
        }
    }

    private mutating func block(_ length: Int, _ inner: [FieldDeclaration], _ name: String, _ values: inout [DecodedField]) {
        guard length > 0 else { return }
        guard length <= remaining else {
            problem = error(name, .short(needed: length, left: remaining))
            return
        }
        let outer = end
        end = position + length
        values += fields(inner)
        end = outer
    }
}
