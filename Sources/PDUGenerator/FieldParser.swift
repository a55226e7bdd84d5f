/// Parses a field's line: a type and notes on its values.
struct FieldParser {
    var namedTypes: [String: NamedType]
    var structures: Set<String>

    struct Problem: Error { var text: String }

    /// Parses a field. `key` is the name with its count in brackets; `line` is the type and the notes.
    func field(key: String, line: String) throws -> Field {
        let (name, count) = try split(key)
        var tokens = line.split(separator: " ").map(String.init)
        guard !tokens.isEmpty else { throw Problem(text: "\(name) has no type") }
        var field = Field(name: name, shape: try shape(tokens.removeFirst()))
        if let count { field.shape = .array(count, field.shape) }
        for token in tokens { try note(token, into: &field) }
        if line.hasPrefix("handle"), field.notes.low == nil { (field.notes.low, field.notes.high) = (0x0000, 0x0EFF) }
        return field
    }

    /// Parses a member of a bit group: a width, or a width and a named type.
    func member(key: String, line: String) throws -> Field {
        var tokens = line.split(separator: " ").map(String.init)
        guard let first = tokens.first, let width = Int(first) else { throw Problem(text: "\(key) needs a width in bits") }
        tokens.removeFirst()
        var named: String?
        if tokens.first == "handle" { tokens[0] = "ConnectionHandle" }
        if let next = tokens.first, namedTypes[next] != nil || next == "ConnectionHandle" {
            named = next
            tokens.removeFirst()
        }
        var field = Field(name: key, shape: .bit(width: width, named: named))
        for token in tokens { try note(token, into: &field) }
        return field
    }

    /// Splits `Name`, `Name[Count]`, `Name[bits Field]`, `Name[*]` or `Name[* by Field 1=4 2=18]`.
    func split(_ key: String) throws -> (String, Count?) {
        guard let open = key.firstIndex(of: "[") else { return (key, nil) }
        guard key.last == "]" else { throw Problem(text: "\(key): no closing bracket") }
        let name = String(key[..<open])
        let words = key[key.index(after: open)..<key.index(before: key.endIndex)].split(separator: " ").map(String.init)
        if words == ["*"] { return (name, .rest) }
        if words.count == 2, words[0] == "bits" { return (name, .popcount(words[1])) }
        if words.count >= 3, words[0] == "*", words[1] == "by" {
            let table = try words.dropFirst(3).map { try pair($0) }
            return (name, .restSized(words[2], table: table.map { (key: $0.0, octets: Self.number($0.1) ?? 0) }))
        }
        guard words.count == 1 else { throw Problem(text: "\(key): what does this count?") }
        if let fixed = Self.number(words[0]) { return (name, .fixed(fixed)) }
        return (name, .field(words[0]))
    }

    private func shape(_ token: String) throws -> Shape {
        let (head, argument) = call(token)
        switch head {
        case "u8", "u16", "u24", "u32", "u40", "u48", "u64":
            return .integer(octets: (Self.number(String(head.dropFirst())) ?? 8) / 8, signed: false, bigEndian: false, named: nil)
        case "u16be", "u32be", "u64be":
            return .integer(
                octets: (Self.number(String(head.dropFirst().dropLast(2))) ?? 16) / 8, signed: false, bigEndian: true, named: nil)
        case "i8", "i16": return .integer(octets: head == "i8" ? 1 : 2, signed: true, bigEndian: false, named: nil)
        case "be":
            guard let type = argument.flatMap({ namedTypes[$0] }) else { throw Problem(text: "\(token): be(Type)") }
            return .integer(octets: type.octets, signed: false, bigEndian: true, named: type.name)
        case "handle": return .integer(octets: 2, signed: false, bigEndian: false, named: "ConnectionHandle")
        case "address": return .integer(octets: 6, signed: false, bigEndian: false, named: "BDADDR")
        case "rest": return .bytes(argument.flatMap(Self.number).map(Size.restLeaving) ?? .rest)
        case "bytes": return .bytes(size(argument))
        case "element": return .bytes(.element)
        case "uuid": return .uuid(size(argument))
        case "reserved": return .reserved(octets: Self.number(argument ?? "1") ?? 1)
        default:
            if let type = namedTypes[head] { return .integer(octets: type.octets, signed: false, bigEndian: false, named: head) }
            if structures.contains(head) { return .nested(head) }
            throw Problem(text: "unknown type \(token)")
        }
    }

    private func size(_ argument: String?) -> Size {
        guard let argument else { return .rest }
        return Self.number(argument).map(Size.fixed) ?? .field(argument)
    }

    private func call(_ token: String) -> (String, String?) {
        guard let open = token.firstIndex(of: "("), token.last == ")" else { return (token, nil) }
        return (String(token[..<open]), String(token[token.index(after: open)..<token.index(before: token.endIndex)]))
    }

    private func pair(_ token: String) throws -> (Int, String) {
        let parts = token.split(separator: "=", maxSplits: 1).map(String.init)
        guard parts.count == 2, let value = Self.number(parts[0]) else { throw Problem(text: "\(token) is not value=name") }
        return (value, parts[1])
    }

    /// Parses `x0.625ms`, `0x0006...0x0C80`, `0x01=Central`, `if(Flags.3)`, `as(hex)`, `kind(Address_Type)`, `conditional`, or a
    /// plain unit.
    private func note(_ token: String, into field: inout Field) throws {
        let (head, argument) = call(token)
        if head == "if", let argument {
            let parts = argument.split(separator: ".").map(String.init)
            guard parts.count == 2, let bit = Int(parts[1]) else { throw Problem(text: "\(token): if(Field.bit)") }
            field.condition = (parts[0], bit)
        } else if head == "as", let argument {
            guard Notes.formats.contains(argument) else {
                throw Problem(text: "unknown format \(argument): use \(Notes.formats.joined(separator: ", "))")
            }
            field.notes.format = argument
        } else if head == "kind", let argument {
            field.notes.kindField = argument
        } else if token == "conditional" {
            field.notes.isConditional = true
        } else if let dots = token.firstRange(of: "...") {
            field.notes.low = Self.number(String(token[..<dots.lowerBound]))
            field.notes.high = Self.number(String(token[dots.upperBound...]))
            guard field.notes.low != nil, field.notes.high != nil else { throw Problem(text: "\(token) is not a range") }
        } else if token.contains("=") {
            let (value, name) = try pair(token)
            field.notes.labels.append((value, name))
        } else if token.first == "x", token.dropFirst().first?.isNumber == true {
            let scale = token.dropFirst().prefix { $0.isNumber || $0 == "." }
            field.notes.scale = String(scale)
            field.notes.unit = String(token.dropFirst(1 + scale.count))
        } else {
            field.notes.unit = token
        }
    }

    static func number(_ text: String) -> Int? {
        if text.hasPrefix("0x") { return Int(text.dropFirst(2), radix: 16) }
        if text.hasPrefix("-0x") { return Int(text.dropFirst(3), radix: 16).map { -$0 } }
        return Int(text)
    }
}
