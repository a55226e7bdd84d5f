import BBPackets

/// JSON as text. Octets are hexadecimal strings; the order of fields is kept.
enum JSON {
    static func string(_ text: String) -> String {
        var result = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"", "\\": result += "\\\(scalar)"
            case _ where scalar.value < 0x20: result += " "
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result + "\""
    }

    static func object(_ members: [(String, String)]) -> String {
        "{" + members.map { string($0.0) + ":" + $0.1 }.joined(separator: ",") + "}"
    }

    static func array(_ elements: [String]) -> String { "[" + elements.joined(separator: ",") + "]" }

    static func hex(_ octets: [UInt8]) -> String { string(Hex.octets(octets)) }

    static func fields(_ fields: [DynamicField]) -> String { object(fields.map { ($0.name, value($0.value)) }) }

    static func value(_ value: FieldValue) -> String {
        switch value {
        case .integer(let number): "\(number)"
        case .octets(let octets): hex(octets)
        case .list(let elements): array(elements.map { self.value($0) })
        case .structure(let inner): fields(inner)
        }
    }
}
