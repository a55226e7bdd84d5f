extension DecodedLayer: CustomStringConvertible {
    /// The name, the fields, what follows them and what is wrong, in one line.
    public var description: String {
        var text = ""
        write(to: &text)
        return text
    }

    func write(to text: inout String) {
        if let summary {
            text += summary
        } else {
            Self.write(layer, name, fields, bytes[trailing], to: &text)
        }
        if let problem { text += " (\(problem))" }
    }

    fileprivate static func write(
        _ layer: String, _ name: String, _ fields: [DecodedField], _ trailing: ArraySlice<UInt8>, to text: inout String
    ) {
        // The names of SMP's PDUs do not say that they are SMP's.
        if layer == "SMP" { text += "SMP " }
        text += name
        for field in fields {
            if field.name == "Return_Parameters", field.isStructure {
                if !field.children.isEmpty { text += " " }
                DecodedField.write(field.children, to: &text)
            } else {
                text += " "
                field.write(to: &text)
            }
        }
        if !trailing.isEmpty { text += " +" + Hex.octets(trailing) }
    }
}

extension DynamicPDU: CustomStringConvertible {
    /// The name, the fields, what follows them and what is wrong, in one line.
    public var description: String {
        var decoded = DecodedField.fields(fields, declaration?.fields ?? [])
        for (index, field) in fields.enumerated() where field.name == "Return_Parameters" {
            guard case .structure(let values) = field.value else { continue }
            decoded[index].children = DecodedField.fields(values, command?.returns ?? [])
        }
        var text = ""
        DecodedLayer.write(layer, name, decoded, trailing[...], to: &text)
        if let problem { text += " (\(problem))" }
        return text
    }
}
