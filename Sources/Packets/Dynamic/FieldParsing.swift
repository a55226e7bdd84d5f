extension FieldDeclaration {
    /// Parses a value: a number, a label, flags joined with `|`, an address, a UUID or hexadecimal octets. Nil for other texts.
    public func value(from text: String) -> FieldValue? {
        switch shape {
        case .integer(_, _, _, "BDADDR"): return Self.address(text).map { .integer(Int128($0)) } ?? Self.number(text).map { .integer($0) }
        case .integer, .bit:
            if let number = Self.number(text) { return .integer(number) }
            if case .opcode = format, let command = PDUCatalog.declaration(layer: .hciCommands, name: text) {
                return .integer(Int128(command.code))
            }
            return named(text).map { .integer($0) }
        case .uuid: return BluetoothUUID(text).map { .octets($0.octets) } ?? Hex.parse(text).map { .octets($0) }
        case .bytes, .reserved: return Hex.parse(text.hasPrefix("0x") ? String(text.dropFirst(2)) : text).map { .octets($0) }
        case .array: return element?.value(from: text)
        case .bits, .rows, .nested, .block: return nil
        }
    }

    /// The names of this field's values.
    public var valueNames: [String] { labels.map(\.name) + (type?.values.map(\.name) ?? []) }

    private func named(_ text: String) -> Int128? {
        var result: Int128 = 0
        let parts = text.split(separator: "|").map { Spelling.normal(String($0).filter { $0 != " " }) }
        for part in parts {
            if let label = labels.first(where: { Spelling.normal($0.name) == part }) {
                result |= Int128(label.value)
            } else if let value = type?.values.first(where: { Spelling.normal($0.name) == part })?.value {
                result |= type?.isFlags == true ? Int128(1) << Int128(value) : Int128(value)
            } else {
                return nil
            }
        }
        return parts.isEmpty || (parts.count > 1 && type?.isFlags != true) ? nil : result
    }

    private static func number(_ text: String) -> Int128? {
        if text.hasPrefix("0x") || text.hasPrefix("0X") { return Int128(text.dropFirst(2), radix: 16) }
        return Int128(text)
    }

    private static func address(_ text: String) -> UInt64? {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 6 else { return nil }
        var value: UInt64 = 0
        for part in parts {
            guard part.count == 2, let octet = UInt8(part, radix: 16) else { return nil }
            value = value << 8 | UInt64(octet)
        }
        return value
    }
}
