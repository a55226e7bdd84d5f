extension FieldDeclaration {
    /// Returns the text of a value with labels and units.
    public func text(_ value: FieldValue) -> String {
        TextBuffer.text { DecodedField(self, value: value).writeValue(to: &$0) }
    }

    /// The width in bits; for a list, that of an element.
    public var width: Int {
        switch shape {
        case .integer(let octets, _, _, _): octets * 8
        case .bit(let width, _): width
        case .array(_, .integer(let octets, _, _, _)): octets * 8
        default: 0
        }
    }

    /// Writes at most four decimal places, without trailing zeros.
    static func write(_ value: Double, to text: inout TextBuffer) {
        let scaled = Int64(saturating: value * 10_000 + (value < 0 ? -0.5 : 0.5))
        if scaled < 0 { text.write("-") }
        text.write(decimal: scaled.magnitude / 10_000)
        var places = scaled.magnitude % 10_000
        guard places > 0 else { return }
        var digits = 4
        while places % 10 == 0 {
            places /= 10
            digits -= 1
        }
        text.write(".")
        text.write(decimal: places, digits: digits)
    }
}

extension DecodedField {
    /// The text of the value.
    public var text: String { TextBuffer.text { writeValue(to: &$0) } }

    func write(to text: inout TextBuffer) {
        text.write(declaration.name)
        text.write("=")
        writeValue(to: &text)
    }

    static func write(_ fields: [DecodedField], to text: inout TextBuffer) {
        for index in fields.indices {
            if index > 0 { text.writeSpace() }
            fields[index].write(to: &text)
        }
    }

    func writeValue(to text: inout TextBuffer) {
        if let label { return text.write(label) }
        switch content {
        case .integer(let number): write(number, to: &text)
        case .octets(let octets):
            switch declaration.format {
            case .uuid: text.write(BluetoothUUID(octets: octets)?.words ?? Hex.octets(octets))
            case .text: PlainText.quote(octets, to: &text)
            case .features: Self.write(features: octets, to: &text)
            case .advertisingData where !children.isEmpty:
                text.write("{")
                Self.write(children, to: &text)
                text.write("}")
            default: Self.write(octets[...], to: &text)
            }
        case .list:
            text.write("[")
            for index in children.indices {
                if index > 0 { text.write(", ") }
                children[index].writeValue(to: &text)
            }
            text.write("]")
        case .structure:
            text.write("{")
            Self.write(children, to: &text)
            text.write("}")
        }
    }

    private func write(_ number: Int128, to text: inout TextBuffer) {
        let value = Int(truncatingIfNeeded: number)
        let pattern = UInt64(truncatingIfNeeded: number)
        switch declaration.format {
        case .decimal, .uuid, .octets, .text, .advertisingData, .features: Self.write(decimal: number, to: &text)
        case .pattern(let bits): text.write(hex: pattern, bits: bits)
        case .address, .typedAddress, .randomAddress: DeviceAddress(value: pattern, kind: addressKind ?? .public).write(to: &text)
        case .named(let type, let bits): Self.write(type.name(of: value), or: pattern, bits, to: &text)
        case .flags(let type, let bits): Self.write(flags: pattern, type, bits, to: &text)
        case .labels(let bits): Self.write(declaration.labels.first { $0.value == value }?.name, or: pattern, bits, to: &text)
        case .opcode: text.write(PDUCatalog.commandName(opcode: value))
        case .company: AssignedNumbers.write(company: value, to: &text)
        case .appearance: AssignedNumbers.write(appearance: value, to: &text)
        case .quantity(let factor, let unit):
            Self.write(decimal: number, to: &text)
            if let factor {
                text.write(" (")
                FieldDeclaration.write(Double(value) * factor, to: &text)
                text.writeSpace()
                text.write(unit)
                text.write(")")
            } else {
                text.writeSpace()
                text.write(unit)
            }
        }
    }

    private static func write(decimal number: Int128, to text: inout TextBuffer) {
        if number < 0 { text.write("-") }
        text.write(decimal: UInt64(truncatingIfNeeded: number.magnitude))
    }

    private static func write(_ name: String?, or number: UInt64, _ bits: Int, to text: inout TextBuffer) {
        if let name { text.write(name) } else { text.write(hex: number, bits: bits) }
    }

    private static func write(flags number: UInt64, _ type: NamedType, _ bits: Int, to text: inout TextBuffer) {
        guard number != 0 else {
            text.write("0")
            return
        }
        var rest = number
        var separator = ""
        for (bit, name) in type.values where number >> UInt64(bit) & 1 == 1 {
            text.write(separator)
            text.write(name)
            separator = "|"
            rest &= ~(1 << UInt64(bit))
        }
        if rest != 0 {
            text.write(separator)
            text.write(hex: rest, bits: bits)
        }
    }

    /// Writes the names of the features on pages 0 and 1, and the octets of further pages if any bit is set. Core Vol 6, Part B, 4.6.
    private static func write(features octets: [UInt8], to text: inout TextBuffer) {
        var rest = octets[...]
        for (page, name) in ["LEFeatures", "LEFeaturesPage1"].enumerated() {
            let number = rest.prefix(8).reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
            rest = rest.dropFirst(8)
            guard page == 0 || number != 0, let type = PDUCatalog.type(named: name) else { continue }
            if page > 0 { text.write("|") }
            write(flags: number, type, 64, to: &text)
        }
        guard rest.contains(where: { $0 != 0 }) else { return }
        text.write("|")
        write(rest, to: &text)
    }

    /// Writes octets; many trailing zeros are written as a count.
    static func write(_ octets: ArraySlice<UInt8>, to text: inout TextBuffer) {
        var end = octets.endIndex
        while end > octets.startIndex, octets[end - 1] == 0 { end -= 1 }
        let zeros = octets.endIndex - end
        if octets.isEmpty {
            text.write("(empty)")
        } else if zeros > 8 {
            text.write(octets: octets[..<end])
            if end > octets.startIndex { text.write("+") }
            text.write(decimal: zeros)
            text.write("x00")
        } else {
            text.write(octets: octets)
        }
    }
}

extension DeviceAddress {
    /// Writes `description`.
    func write(to text: inout TextBuffer) {
        for shift in stride(from: UInt64(40), through: 0, by: -8) {
            text.write(octet: UInt8(truncatingIfNeeded: value >> shift))
            if shift > 0 { text.write(":") }
        }
        if kind == .random { text.write(" (random)") }
    }
}
