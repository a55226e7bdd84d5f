extension FieldDeclaration {
    /// A value as people read it: labels for named values, units where there are any.
    public func text(_ value: FieldValue) -> String {
        switch value {
        case .integer(let number): text(number)
        case .octets(let octets):
            if case .uuid = shape { BluetoothUUID(octets: octets)?.description ?? Hex.octets(octets) } else { Self.text(octets) }
        case .list(let elements): "[" + elements.map { elementText($0) }.joined(separator: ", ") + "]"
        case .structure(let fields): "{" + Self.text(fields, inner) + "}"
        }
    }

    static func text(_ fields: [DynamicField], _ declarations: [FieldDeclaration]) -> String {
        fields.map { field in
            let declaration =
                PDUDeclaration.find(Spelling.normal(field.name), declarations) ?? FieldDeclaration(name: field.name, shape: .bytes(.rest))
            return field.name + "=" + declaration.text(field.value)
        }.joined(separator: " ")
    }

    private func elementText(_ value: FieldValue) -> String {
        if case .structure(let fields) = value { return "{" + Self.text(fields, inner) + "}" }
        guard case .array(_, let element) = shape else { return text(value) }
        return FieldDeclaration(name: name, shape: element, unit: unit, scale: scale, range: range, labels: labels).text(value)
    }

    private func text(_ number: Int128) -> String {
        let bits = width
        if case .integer(_, _, _, let named?) = shape {
            if named == "BDADDR" { return BDADDR(rawValue: UInt64(truncatingIfNeeded: number)).description }
            if named == "ConnectionHandle" { return Hex.number(number, bits: bits) }
        }
        if case .bit(_, "ConnectionHandle") = shape { return Hex.number(number, bits: 16) }
        if let type {
            if type.isFlags { return flags(number, type, bits) }
            return type.values.first { Int128($0.value) == number }?.name ?? Hex.number(number, bits: bits)
        }
        if !labels.isEmpty { return labels.first { Int128($0.value) == number }?.name ?? Hex.number(number, bits: bits) }
        if name == "Command_Opcode", let command = PDUCatalog.declaration(layer: "HCICommands", code: Int(truncatingIfNeeded: number)) {
            return command.name
        }
        if let unit {
            guard let scale, let factor = Double(scale) else { return "\(number) \(unit)" }
            return "\(number) (\(Self.decimal(Double(Int64(truncatingIfNeeded: number)) * factor)) \(unit))"
        }
        return isPattern || bits > 32 ? Hex.number(number, bits: bits) : "\(number)"
    }

    /// The width in bits, of one element for a list.
    public var width: Int {
        switch shape {
        case .integer(let octets, _, _, _): octets * 8
        case .bit(let width, _): width
        case .array(_, .integer(let octets, _, _, _)): octets * 8
        default: 0
        }
    }

    /// Whether the number is a pattern rather than a quantity.
    private var isPattern: Bool {
        [
            "Handle", "Opcode", "Map", "Mask", "Flags", "CID", "PSM", "AA", "CRCInit", "ChM", "Type", "Channel", "Device", "LAP",
            "EDIV", "Diversifier",
        ].contains {
            name == $0 || name.hasSuffix("_" + $0)
        }
    }

    private func flags(_ number: Int128, _ type: NamedType, _ bits: Int) -> String {
        guard number != 0 else { return "0" }
        var rest = number
        var names: [String] = []
        for (bit, name) in type.values where number >> Int128(bit) & 1 == 1 {
            names.append(name)
            rest &= ~(Int128(1) << Int128(bit))
        }
        if rest != 0 { names.append(Hex.number(rest, bits: bits)) }
        return names.joined(separator: "|")
    }

    private static func text(_ octets: [UInt8]) -> String {
        let used = octets.count - octets.reversed().prefix { $0 == 0 }.count
        guard octets.count - used > 8 else { return octets.isEmpty ? "(empty)" : Hex.octets(octets) }
        return (used == 0 ? "" : Hex.octets(octets[..<used]) + "+") + "\(octets.count - used)x00"
    }

    /// At most four places, no zeros at the end.
    static func decimal(_ value: Double) -> String {
        let scaled = Int64(value * 10_000 + (value < 0 ? -0.5 : 0.5))
        let sign = scaled < 0 ? "-" : ""
        let whole = scaled.magnitude / 10_000
        var places = String(scaled.magnitude % 10_000)
        places = String(repeating: "0", count: 4 - places.count) + places
        while places.last == "0" { places.removeLast() }
        return sign + "\(whole)" + (places.isEmpty ? "" : "." + places)
    }

    /// The value that a text stands for: a number, a label, flags joined by `|`, an address, a UUID or hexadecimal octets. Nil when it is none of them.
    public func value(from text: String) -> FieldValue? {
        switch shape {
        case .integer(_, _, _, "BDADDR"): return Self.address(text).map { .integer(Int128($0)) } ?? Self.number(text).map { .integer($0) }
        case .integer, .bit:
            if let number = Self.number(text) { return .integer(number) }
            if name == "Command_Opcode", let command = PDUCatalog.declaration(layer: "HCICommands", name: text) {
                return .integer(Int128(command.code))
            }
            return named(text).map { .integer($0) }
        case .uuid: return BluetoothUUID(text).map { .octets($0.octets) } ?? Hex.parse(text).map { .octets($0) }
        case .bytes, .reserved: return Hex.parse(text.hasPrefix("0x") ? String(text.dropFirst(2)) : text).map { .octets($0) }
        case .array(_, let element): return FieldDeclaration(name: name, shape: element, labels: labels).value(from: text)
        case .bits, .rows, .nested, .block: return nil
        }
    }

    /// The names that this field's values have.
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

extension DynamicPDU: CustomStringConvertible {
    /// The name, the fields, what follows them and what is wrong, in one line.
    public var description: String {
        var text = name
        for field in fields {
            if field.name == "Return_Parameters", case .structure(let values) = field.value {
                text += " " + FieldDeclaration.text(values, command?.returns ?? [])
            } else {
                text += " " + FieldDeclaration.text([field], declaration?.fields ?? [])
            }
        }
        if !trailing.isEmpty { text += " +\(Hex.octets(trailing))" }
        if let problem { text += " (\(problem))" }
        return text
    }
}
