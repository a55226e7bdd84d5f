import BBCases
import BBPackets

/// Numbers for devices, and texts without addresses, names and keys.
struct Redaction {
    let showsSecrets: Bool
    private var numbers: [UInt64: Int] = [:]
    private(set) var descriptions: [String] = []

    private static let mostDevices = 10_000

    init(showsSecrets: Bool) { self.showsSecrets = showsSecrets }

    /// The number of a device, starting with 1; 0 if there are too many.
    mutating func number(of address: DeviceAddress) -> Int {
        if let known = numbers[address.value] { return known }
        guard numbers.count < Self.mostDevices else { return 0 }
        let number = numbers.count + 1
        numbers[address.value] = number
        descriptions.append(showsSecrets ? "\(address)" : Self.kind(of: address))
        return number
    }

    /// Kind of a random address, from its two most significant bits. Core Vol 6, Part B, 1.3.
    private static func kind(of address: DeviceAddress) -> String {
        guard address.kind == .random else { return "public address" }
        return switch address.value >> 46 {
        case 0b11: "static random address"
        case 0b01: "resolvable private address"
        case 0b00: "non-resolvable private address"
        default: "random address"
        }
    }

    /// The text of a message, with the values of fields for `{Field}`.
    func message(_ rule: DiagnosisRule, _ event: DiagnosisEvent) -> String {
        var text = ""
        var rest = rule.message[...]
        while let open = rest.firstIndex(of: "{"), let close = rest[open...].firstIndex(of: "}") {
            text += rest[..<open]
            text += value(String(rest[rest.index(after: open)..<close]), event)
            rest = rest[rest.index(after: close)...]
        }
        return text + rest
    }

    private func value(_ name: String, _ event: DiagnosisEvent) -> String {
        if name == "name" { return event.name }
        if name == "side" { return event.side }
        if let field = event.pdu?.fields.named(name) ?? event.pdu?.returns.named(name) {
            return PlainText.escaped(isSecret(field) ? "(hidden)" : field.text)
        }
        guard let value = event.record[name] else { return "" }
        if case .number(let number) = value { return "\(number)" }
        return PlainText.escaped("\(value)")
    }

    /// Addresses, names, and numbers and octets long enough for a key.
    private func isSecret(_ field: DecodedField) -> Bool {
        if showsSecrets { return false }
        if field.addressKind != nil || field.declaration.width >= 48 { return true }
        if !field.children.isEmpty { return true }
        return (field.octets?.count ?? 0) > 4
    }
}
