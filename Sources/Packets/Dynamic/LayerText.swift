extension DecodedLayer: CustomStringConvertible {
    /// The name, the fields, the remaining octets and the problem in one line.
    public var description: String { TextBuffer.text { write(to: &$0) } }

    /// Writes `description`.
    public func write(to text: inout TextBuffer) {
        if let summary {
            text.write(summary)
        } else {
            Self.write(layer, name, fields, bytes[trailing], to: &text)
        }
        if let problem { text.write(" (\(problem))") }
    }

    fileprivate static func write(
        _ layer: Layer, _ name: String, _ fields: [DecodedField], _ trailing: ArraySlice<UInt8>, to text: inout TextBuffer
    ) {
        // The names of SMP's PDUs do not say that they are SMP's.
        if layer == .smp { text.write("SMP ") }
        text.write(name)
        for index in fields.indices {
            if fields[index].isStructure, fields[index].name == "Return_Parameters" {
                if !fields[index].children.isEmpty { text.writeSpace() }
                DecodedField.write(fields[index].children, to: &text)
            } else {
                text.writeSpace()
                fields[index].write(to: &text)
            }
        }
        guard !trailing.isEmpty else { return }
        text.write(" +")
        text.write(octets: trailing)
    }
}

extension DynamicPDU: CustomStringConvertible {
    /// The name, the fields, the remaining octets and the problem in one line.
    public var description: String {
        var decoded = DecodedField.fields(fields, declaration?.fields ?? [])
        for (index, field) in fields.enumerated() where field.name == "Return_Parameters" {
            guard case .structure(let values) = field.value else { continue }
            decoded[index].children = DecodedField.fields(values, command?.returns ?? [])
        }
        return TextBuffer.text { text in
            DecodedLayer.write(layer, name, decoded, trailing[...], to: &text)
            if let problem { text.write(" (\(problem))") }
        }
    }
}
