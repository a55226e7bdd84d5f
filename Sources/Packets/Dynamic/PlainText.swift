/// Text from outside as it may stand on a terminal or in a page: nothing in it moves a cursor, ends a line or sends a command.
public enum PlainText {
    /// The text with control characters, and those that turn the direction of writing, written as `\u{1B}`.
    public static func escaped(_ text: String) -> String {
        guard text.unicodeScalars.contains(where: isUnsafe) else { return text }
        var result = ""
        for scalar in text.unicodeScalars {
            if isUnsafe(scalar) { write(scalar, to: &result) } else { result.unicodeScalars.append(scalar) }
        }
        return result
    }

    /// A name as octets of UTF-8, up to its first zero, in quotation marks.
    static func quote(_ octets: [UInt8], to text: inout String) {
        text += "\""
        let name = octets.prefix { $0 != 0 }
        if let valid = String(validating: name, as: UTF8.self) {
            for scalar in valid.unicodeScalars {
                if scalar == "\"" || scalar == "\\" { text += "\\" }
                if isUnsafe(scalar) { write(scalar, to: &text) } else { text.unicodeScalars.append(scalar) }
            }
        } else {
            for octet in name {
                if octet >= 0x20, octet < 0x7F {
                    text.unicodeScalars.append(Unicode.Scalar(octet))
                } else {
                    text += "\\x" + Hex.octets([octet])
                }
            }
        }
        text += "\""
    }

    private static func write(_ scalar: Unicode.Scalar, to text: inout String) {
        text += "\\u{" + String(scalar.value, radix: 16, uppercase: true) + "}"
    }

    private static func isUnsafe(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0..<0x20, 0x7F...0x9F, 0x200E, 0x200F, 0x2028...0x202E, 0x2066...0x2069: true
        default: false
        }
    }
}
