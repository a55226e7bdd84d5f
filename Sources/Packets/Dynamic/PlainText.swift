/// External text in a safe form for terminals and pages: without control characters.
public enum PlainText {
    /// Returns the text with control characters and those that change the writing direction as `\u{1B}`.
    public static func escaped(_ text: String) -> String {
        guard text.unicodeScalars.contains(where: isUnsafe) else { return text }
        var result = ""
        for scalar in text.unicodeScalars {
            if isUnsafe(scalar) { result += escape(scalar) } else { result.unicodeScalars.append(scalar) }
        }
        return result
    }

    /// Writes a name in UTF-8 up to its first zero, in quotation marks.
    static func quote(_ octets: [UInt8], to text: inout TextBuffer) {
        text.write("\"")
        let name = octets.prefix { $0 != 0 }
        if let valid = String(validating: name, as: UTF8.self) {
            for scalar in valid.unicodeScalars {
                if scalar == "\"" || scalar == "\\" { text.write("\\") }
                if isUnsafe(scalar) { text.write(escape(scalar)) } else { text.write(scalar: scalar) }
            }
        } else {
            for octet in name {
                if octet >= 0x20, octet < 0x7F {
                    text.write(scalar: Unicode.Scalar(octet))
                } else {
                    text.write("\\x")
                    text.write(octet: octet)
                }
            }
        }
        text.write("\"")
    }

    private static func escape(_ scalar: Unicode.Scalar) -> String {
        "\\u{" + String(scalar.value, radix: 16, uppercase: true) + "}"
    }

    private static func isUnsafe(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0..<0x20, 0x7F...0x9F, 0x200E, 0x200F, 0x2028...0x202E, 0x2066...0x2069: true
        default: false
        }
    }
}
