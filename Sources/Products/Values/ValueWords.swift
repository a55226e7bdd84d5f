import BBPackets

/// Attribute values for people.
public enum ValueWords {
    /// Returns a value as text, or its parts with their names; nil if neither its format nor its text is known.
    ///
    /// - Parameter uuid: the UUID of the characteristic or descriptor.
    public static func text(_ value: [UInt8], of uuid: BluetoothUUID) -> String? {
        switch uuid {
        case .clientConfiguration where value.count == 2: configuration(value[0])
        case .appearance where value.count == 2: AssignedNumbers.appearance(Int(value[0]) | Int(value[1]) << 8)
        default: (ValueFormat.all[uuid] ?? ValueFormat.unjudged[uuid]).flatMap { $0.words(of: value, uuid) } ?? plain(value)
        }
    }

    private static func configuration(_ bits: UInt8) -> String {
        switch bits & 3 {
        case 1: "notifications"
        case 2: "indications"
        case 3: "notifications and indications"
        default: "off"
        }
    }

    /// Printable UTF-8 in quotation marks.
    private static func plain(_ value: [UInt8]) -> String? {
        guard value.count > 1, let text = String(validating: value, as: UTF8.self), PlainText.escaped(text) == text else { return nil }
        return "'\(text)'"
    }
}

extension ValueFormat {
    /// Returns the parts of a valid value with units and names of the Assigned Numbers; nil for an invalid one, and for parts that are only
    /// octets.
    package func words(of value: [UInt8], _ uuid: BluetoothUUID) -> String? {
        guard fault(in: value) == nil else { return nil }
        var rest = value[...]
        var words: [String] = []
        func add(_ name: String, _ value: String) {
            words.append((name.hasPrefix("the ") ? String(name.dropFirst(4)) : name) + " " + value)
        }
        func take(_ name: String, _ octets: Int) -> String {
            defer { rest = rest.dropFirst(octets) }
            let number = rest.prefix(octets).reversed().reduce(0) { $0 << 8 | Int($1) }
            return ValueMeaning.text(number, octets: octets, uuid, name, flags: value.first ?? 0)
        }
        for part in parts {
            switch part {
            case .number(let name, let octets, _, let presence):
                if presence.holds(value.first ?? 0) { add(name, take(name, octets)) }
            case .numbers(let name, let octets, let presence):
                guard presence.holds(value.first ?? 0) else { continue }
                var numbers: [String] = []
                while rest.count >= octets { numbers.append(take(name, octets)) }
                add(name, numbers.joined(separator: " "))
            case .text: words.append("'\(PlainText.escaped(String(decoding: rest, as: UTF8.self)))'")
            case .octets, .items: return nil
            }
        }
        return words.isEmpty ? nil : words.joined(separator: ", ")
    }
}

extension BluetoothUUID {
    fileprivate static let clientConfiguration: BluetoothUUID = 0x2902
    fileprivate static let appearance: BluetoothUUID = 0x2A01
}
