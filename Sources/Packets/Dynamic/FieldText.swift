extension FieldDeclaration {
    /// A value as people read it: labels for named values, units where there are any.
    public func text(_ value: FieldValue) -> String {
        var text = ""
        DecodedField(self, value: value).writeValue(to: &text)
        return text
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
}

extension DecodedField {
    /// The value as people read it.
    public var text: String {
        var text = ""
        writeValue(to: &text)
        return text
    }

    func write(to text: inout String) {
        text += declaration.name
        text += "="
        writeValue(to: &text)
    }

    static func write(_ fields: [DecodedField], to text: inout String) {
        for (index, field) in fields.enumerated() {
            if index > 0 { text += " " }
            field.write(to: &text)
        }
    }

    func writeValue(to text: inout String) {
        switch content {
        case .integer(let number): write(number, to: &text)
        case .octets(let octets):
            switch declaration.format {
            case .uuid: text += BluetoothUUID(octets: octets)?.words ?? Hex.octets(octets)
            case .text: PlainText.quote(octets, to: &text)
            case .advertisingData where !children.isEmpty:
                text += "{"
                Self.write(children, to: &text)
                text += "}"
            default: Self.write(octets, to: &text)
            }
        case .list:
            text += "["
            for (index, element) in children.enumerated() {
                if index > 0 { text += ", " }
                element.writeValue(to: &text)
            }
            text += "]"
        case .structure:
            text += "{"
            Self.write(children, to: &text)
            text += "}"
        }
    }

    private func write(_ number: Int128, to text: inout String) {
        let value = Int(truncatingIfNeeded: number)
        switch declaration.format {
        case .decimal, .uuid, .octets, .text, .advertisingData: text += Self.decimal(number)
        case .pattern(let bits): text += Hex.number(UInt64(truncatingIfNeeded: number), bits: bits)
        case .address, .typedAddress, .randomAddress:
            text += DeviceAddress(value: UInt64(truncatingIfNeeded: number), kind: addressKind ?? .public).description
        case .named(let type, let bits): text += type.name(of: value) ?? Hex.number(value, bits: bits)
        case .flags(let type, let bits): Self.write(flags: number, type, bits, to: &text)
        case .labels(let bits): text += declaration.labels.first { $0.value == value }?.name ?? Hex.number(value, bits: bits)
        case .opcode: text += PDUCatalog.commandName(opcode: value)
        case .company: AssignedNumbers.write(company: value, to: &text)
        case .appearance: AssignedNumbers.write(appearance: value, to: &text)
        case .quantity(let factor, let unit):
            text += Self.decimal(number)
            text += factor == nil ? " " : " ("
            if let factor { text += FieldDeclaration.decimal(Double(value) * factor) + " " }
            text += unit
            if factor != nil { text += ")" }
        }
    }

    private static func decimal(_ number: Int128) -> String { Int(exactly: number)?.description ?? number.description }

    private static func write(flags number: Int128, _ type: NamedType, _ bits: Int, to text: inout String) {
        guard number != 0 else {
            text += "0"
            return
        }
        var rest = number
        var separator = ""
        for (bit, name) in type.values where number >> Int128(bit) & 1 == 1 {
            text += separator
            text += name
            separator = "|"
            rest &= ~(Int128(1) << Int128(bit))
        }
        if rest != 0 { text += separator + Hex.number(UInt64(truncatingIfNeeded: rest), bits: bits) }
    }

    /// Many zeros at the end are counted.
    static func write(_ octets: [UInt8], to text: inout String) {
        let zeros = octets.reversed().prefix { $0 == 0 }.count
        guard !octets.isEmpty else {
            text += "(empty)"
            return
        }
        guard zeros > 8 else {
            text += Hex.octets(octets)
            return
        }
        if zeros < octets.count { text += Hex.octets(octets.dropLast(zeros)) + "+" }
        text += "\(zeros)x00"
    }
}
