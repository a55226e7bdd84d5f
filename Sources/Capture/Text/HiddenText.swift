import BBPackets

/// Text of a packet without addresses, names, keys and long values.
public enum HiddenText {
    static let mark = "(hidden)"

    /// Writes a packet like its `description`, with hidden values.
    public static func write(_ packet: DecodedPacket, to text: inout TextBuffer) {
        var separator = ""
        for layer in packet.layers where layer.summary != "" {
            text.write(separator)
            if layer.declaration == nil || layer.summary != nil {
                write(summary: layer.summary ?? layer.name, to: &text)
            } else {
                if layer.layer == .smp { text.write("SMP ") }
                text.write(layer.name)
                for field in layer.fields where !(field.isStructure && field.children.isEmpty) {
                    text.write(" ")
                    write(field, to: &text)
                }
                if !layer.trailing.isEmpty { text.write(" +\(layer.trailing.count) octets") }
            }
            separator = layer.summary == nil ? " | " : " "
        }
    }

    /// Descriptions of undeclared data have their octets after a colon; the text of a note is not ours.
    private static func write(summary: String, to text: inout TextBuffer) {
        guard let colon = summary.firstRange(of: ": ") else { return text.write(summary) }
        text.write(String(summary[..<colon.lowerBound]))
        text.write(" " + mark)
    }

    private static func write(_ field: DecodedField, to text: inout TextBuffer) {
        text.write(field.name)
        text.write("=")
        writeValue(field, to: &text)
    }

    private static func writeValue(_ field: DecodedField, to text: inout TextBuffer) {
        if field.isList {
            text.write("[")
            for (index, child) in field.children.enumerated() {
                if index > 0 { text.write(", ") }
                writeValue(child, to: &text)
            }
            text.write("]")
        } else if !field.children.isEmpty {
            text.write("{")
            for (index, child) in field.children.enumerated() {
                if index > 0 { text.write(" ") }
                write(child, to: &text)
            }
            text.write("}")
        } else {
            text.write(isSecret(field) ? mark : field.text)
        }
    }

    private static let secretNumbers: Set<String> = ["Passkey", "Numeric_Value", "LAP", "UAP", "NAP"]

    private static func isSecret(_ field: DecodedField) -> Bool {
        if field.addressKind != nil || field.declaration.width >= 48 || secretNumbers.contains(field.name) { return true }
        guard let octets = field.octets else { return false }
        // A name of any length stands in quotation marks, and a UUID is no secret.
        if case .uuid = field.declaration.shape { return false }
        return octets.count > 4 || field.text.hasPrefix("\"")
    }
}
