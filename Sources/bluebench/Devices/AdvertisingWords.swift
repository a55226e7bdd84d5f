import BBHost
import BBPackets

/// Advertising data for people: a name and a value for each AD structure.
enum AdvertisingWords {
    struct Field: Encodable, Equatable {
        var name: String
        var value: String
    }

    static func fields(_ data: AdvertisingData) -> [Field] { data.elements.map { Field(name: name($0), value: value($0)) } }

    /// The name of an AD type. Supplement, Part A, 1.
    private static func name(_ element: AdvertisingElement) -> String {
        switch element {
        case .flags: "Flags"
        case .serviceUUIDs(_, let width, let complete): "\(complete ? "Complete" : "Incomplete") List of \(width * 8)-bit Service UUIDs"
        case .solicitedUUIDs(_, let width): "List of \(width * 8)-bit Service Solicitation UUIDs"
        case .shortenedLocalName: "Shortened Local Name"
        case .completeLocalName: "Complete Local Name"
        case .txPowerLevel: "TX Power Level"
        case .peripheralIntervalRange: "Peripheral Connection Interval Range"
        case .serviceData: "Service Data"
        case .appearance: "Appearance"
        case .advertisingInterval: "Advertising Interval"
        case .leRole: "LE Role"
        case .uri: "URI"
        case .manufacturerData: "Manufacturer Specific Data"
        case .other(let type, _): "AD type \(Hex.number(type))"
        case .malformed: "Invalid structure"
        }
    }

    private static func value(_ element: AdvertisingElement) -> String {
        switch element {
        case .flags(let flags): Self.flags(flags)
        case .serviceUUIDs(let uuids, _, _), .solicitedUUIDs(let uuids, _): uuids.map(\.words).joined(separator: ", ")
        case .shortenedLocalName(let name), .completeLocalName(let name): "'\(PlainText.escaped(name))'"
        case .txPowerLevel(let level): "\(level) dBm"
        case .peripheralIntervalRange(let minimum, let maximum): "\(interval(minimum)) to \(interval(maximum))"
        case .serviceData(let uuid, let data): [uuid.words, Hex.octets(data)].filter { !$0.isEmpty }.joined(separator: " ")
        case .appearance(let value): named(AssignedNumbers.appearance(Int(value)), value)
        case .advertisingInterval(let value): "\(Double(value) * 0.625) ms"
        case .leRole(let role): roles.indices.contains(Int(role)) ? roles[Int(role)] : "reserved \(role)"
        case .uri(let octets): Hex.octets(octets)
        case .manufacturerData(let company, let data):
            [named(AssignedNumbers.company(Int(company)), company), Hex.octets(data)].filter { !$0.isEmpty }.joined(separator: " ")
        case .other(_, let data), .malformed(let data): Hex.octets(data)
        }
    }

    private static func named(_ name: String?, _ number: UInt16) -> String {
        Hex.number(number) + (name.map { " (\($0))" } ?? "")
    }

    private static func interval(_ value: UInt16) -> String { value == 0xFFFF ? "any" : "\(Double(value) * 1.25) ms" }

    private static let roles = ["only Peripheral", "only Central", "Peripheral preferred", "Central preferred"]

    /// Supplement, Part A, 1.3.
    private static func flags(_ flags: AdvertisingFlags) -> String {
        let names = [
            "LE Limited Discoverable Mode", "LE General Discoverable Mode", "BR/EDR Not Supported", "LE and BR/EDR (Controller)",
        ]
        let words = (0..<8).filter { flags.rawValue >> $0 & 1 == 1 }.map { $0 < names.count ? names[$0] : "reserved bit \($0)" }
        return words.isEmpty ? "none" : words.joined(separator: ", ")
    }
}
