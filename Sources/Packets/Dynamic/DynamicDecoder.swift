/// Reads octets by a declaration. It stops at the first field that does not fit and keeps what was read until then.
struct DynamicDecoder {
    private let bytes: [UInt8]
    private var position = 0
    private var end: Int
    private(set) var problem: PDUError?

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
        end = bytes.count
    }

    var remaining: Int { end - position }

    mutating func rest() -> [UInt8] {
        end = bytes.count
        return take(remaining, "") ?? []
    }

    /// The values read in order; after a problem the last row may be incomplete.
    mutating func fields(_ declarations: [FieldDeclaration]) -> [DynamicField] {
        var values: [DynamicField] = []
        for declaration in declarations {
            guard problem == nil else { break }
            if let condition = declaration.condition {
                let flags = Self.integer(condition.field, values) ?? 0
                if flags >> Int128(condition.bit) & 1 == 0 { continue }
            }
            read(declaration, &values)
        }
        return values
    }

    private static func integer(_ name: String, _ values: [DynamicField]) -> Int128? {
        values.first { $0.name == name }?.value.integer
    }

    private mutating func take(_ count: Int, _ field: String) -> [UInt8]? {
        guard count >= 0, count <= remaining else {
            problem = problem ?? PDUError(field: field, offset: position, problem: .short(needed: max(count, 0), left: remaining))
            return nil
        }
        defer { position += count }
        return Array(bytes[position..<position + count])
    }

    private mutating func number(_ octets: Int, signed: Bool, bigEndian: Bool, _ field: String) -> Int128? {
        guard let taken = take(octets, field) else { return nil }
        var value: Int128 = 0
        for octet in bigEndian ? taken : taken.reversed() { value = value << 8 | Int128(octet) }
        if signed, octets > 0, value >> Int128(8 * octets - 1) & 1 == 1 { value -= Int128(1) << Int128(8 * octets) }
        return value
    }

    private mutating func read(_ field: FieldDeclaration, _ values: inout [DynamicField]) {
        switch field.shape {
        case .bits(let octets, let members): bits(octets, members, &values)
        case .bit: break
        case .array(let count, let element):
            let list = self.list(count, field.name, values) { (decoder: inout DynamicDecoder) in decoder.scalar(element, field.name, values)
            }
            values.append(DynamicField(field.name, .list(list)))
        case .rows(let count, let inner):
            let list = self.list(count, field.name, values) { (decoder: inout DynamicDecoder) in
                let row = decoder.fields(inner)
                return row.isEmpty ? nil : .structure(row)
            }
            values.append(DynamicField(field.name, .list(list)))
        case .block(let length, let inner): block(Int(Self.integer(length, values) ?? 0), inner, field.name, &values)
        default: if let value = scalar(field.shape, field.name, values) { values.append(DynamicField(field.name, value)) }
        }
    }

    private mutating func bits(_ octets: Int, _ members: [FieldDeclaration], _ values: inout [DynamicField]) {
        guard let word = number(octets, signed: false, bigEndian: false, members.first?.name ?? "") else { return }
        var shift: Int128 = 0
        for member in members {
            guard case .bit(let width, _) = member.shape else { continue }
            values.append(DynamicField(member.name, .integer(word >> shift & (Int128(1) << Int128(width) - 1))))
            shift += Int128(width)
        }
    }

    private mutating func scalar(_ shape: FieldDeclaration.Shape, _ name: String, _ values: [DynamicField]) -> FieldValue? {
        switch shape {
        case .integer(let octets, let signed, let bigEndian, _):
            return number(octets, signed: signed, bigEndian: bigEndian, name).map { .integer($0) }
        case .bytes(let size): return take(octets(size, values), name).map { .octets($0) }
        case .uuid(let size):
            let count = octets(size, values)
            guard [2, 4, 16].contains(count) || count > remaining else {
                problem = problem ?? PDUError(field: name, offset: position, problem: .value("a UUID has 2, 4 or 16 octets, not \(count)"))
                return nil
            }
            return take(count, name).map { .octets($0) }
        case .reserved(let octets): return take(octets, name).map { .octets($0) }
        case .nested(let type):
            guard let nested = PDUCatalog.declaration(layer: "Structures", name: type) else { return nil }
            let fields = self.fields(nested.fields)
            return fields.isEmpty ? nil : .structure(fields)
        case .bits, .bit, .array, .rows, .block: return nil
        }
    }

    private func octets(_ size: FieldDeclaration.Size, _ values: [DynamicField]) -> Int {
        switch size {
        case .fixed(let octets): octets
        case .rest: remaining
        case .restLeaving(let tail): max(0, remaining - tail)
        case .field(let name): Int(Self.integer(name, values) ?? 0)
        }
    }

    private mutating func list(
        _ count: FieldDeclaration.Count, _ name: String, _ values: [DynamicField], _ element: (inout DynamicDecoder) -> FieldValue?
    ) -> [FieldValue] {
        var elements: [FieldValue] = []
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
                    problem = PDUError(field: name, offset: position, problem: .short(needed: max(1, octets), left: remaining))
                    break
                }
                let outer = end
                end = position + octets
                if let value = element(&self) { elements.append(value) }
                if problem == nil, remaining > 0 { problem = PDUError(field: name, offset: position, problem: .trailing(remaining)) }
                end = outer
            }
        }
        return elements
    }

    private func number(of count: FieldDeclaration.Count, _ values: [DynamicField]) -> Int {
        switch count {
        case .fixed(let count): count
        case .field(let name): Int(Self.integer(name, values) ?? 0)
        case .popcount(let name): (Self.integer(name, values) ?? 0).nonzeroBitCount
        case .rest, .restSized: 0
        }
    }

    private mutating func block(_ length: Int, _ inner: [FieldDeclaration], _ name: String, _ values: inout [DynamicField]) {
        guard length > 0 else { return }
        guard length <= remaining else {
            problem = PDUError(field: name, offset: position, problem: .short(needed: length, left: remaining))
            return
        }
        let outer = end
        end = position + length
        values += fields(inner)
        end = outer
    }
}
