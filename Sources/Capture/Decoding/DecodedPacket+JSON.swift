import BBPackets

extension DecodedPacket {
    /// Writes the layers as a JSON array. A field with an integer is a number, or the name of its value; octets are hexadecimal.
    public func writeJSON(to text: inout TextBuffer) {
        text.write("[")
        for (index, layer) in layers.enumerated() {
            text.write(index > 0 ? ",{\"layer\":" : "{\"layer\":")
            text.write(json: layer.layer.rawValue)
            text.write(",\"name\":")
            text.write(json: layer.name)
            if let command = layer.command { text.write(",\"command\":\"\(command.name)\"") }
            if layer.declaration != nil {
                text.write(",\"fields\":")
                Self.write(layer.fields, to: &text)
            }
            if !layer.trailing.isEmpty, layer.declaration != nil {
                text.write(",\"trailing\":\"")
                text.write(octets: layer.bytes[layer.trailing])
                text.write("\"")
            }
            if let problem = layer.problem {
                text.write(",\"problem\":")
                text.write(json: "\(problem)")
            }
            text.write("}")
        }
        text.write("]")
    }

    private static func write(_ fields: [DecodedField], to text: inout TextBuffer) {
        text.write("{")
        var names: Set<String> = []
        for field in fields where names.insert(field.name).inserted {
            if names.count > 1 { text.write(",") }
            text.write(json: field.name)
            text.write(":")
            write(field, to: &text)
        }
        text.write("}")
    }

    private static func write(_ field: DecodedField, to text: inout TextBuffer) {
        if field.isList {
            text.write("[")
            for (index, child) in field.children.enumerated() {
                if index > 0 { text.write(",") }
                write(child, to: &text)
            }
            text.write("]")
        } else if !field.children.isEmpty || field.isStructure {
            write(field.children, to: &text)
        } else if let number = field.integer {
            let words = field.text
            let first = words.prefix { $0 != " " }
            if first.hasPrefix("0x") || Double(first) != nil {
                // Larger numbers lose digits in many readers of JSON.
                if number.magnitude < 1 << 53 { text.write(decimal: Int(truncatingIfNeeded: number)) } else { text.write(json: words) }
            } else {
                text.write(json: words)
            }
        } else if let octets = field.octets, !field.text.hasPrefix("\"") {
            text.write("\"")
            text.write(octets: octets[...])
            text.write("\"")
        } else {
            text.write(json: String(field.text.dropFirst().dropLast()))
        }
    }
}

extension TextBuffer {
    /// Writes a JSON string.
    public mutating func write(json string: String) {
        write("\"")
        for scalar in string.unicodeScalars {
            switch scalar {
            case "\"": write("\\\"")
            case "\\": write("\\\\")
            case "\0"..<" ", "\u{7F}"..<"\u{A0}", "\u{2028}", "\u{2029}":
                write("\\u")
                for shift in [12, 8, 4, 0] { write(String(scalar.value >> UInt32(shift) & 15, radix: 16)) }
            default: write(String(Character(scalar)))
            }
        }
        write("\"")
    }

    /// Writes a field of comma-separated values. RFC 4180.
    public mutating func write(csv string: String) {
        guard string.contains(where: { ",\"\r\n".contains($0) }) else { return write(string) }
        write("\"")
        write(string.replacing("\"", with: "\"\""))
        write("\"")
    }
}
