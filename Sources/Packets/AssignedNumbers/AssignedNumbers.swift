/// Names of the most common numbers assigned by the Bluetooth SIG: companies, UUIDs, appearances.
public enum AssignedNumbers {
    /// Returns a company's short name.
    public static func company(_ identifier: Int) -> String? { companies[identifier] }

    /// Returns the name of a 16-bit UUID: a service, a declaration, a descriptor or a characteristic.
    public static func name(uuid: UInt16) -> String? { uuids[Int(uuid)] }

    /// Returns the name of an appearance, or of its category if the subcategory is unknown.
    public static func appearance(_ value: Int) -> String? { appearances[value] ?? appearances[value & ~0x3F] }

    private static let companies = table(companyNames)
    private static let uuids = table(serviceNames).merging(table(attributeNames)) { first, _ in first }
    private static let appearances = table(appearanceNames)

    /// Parses a table. Each line has a hexadecimal number, a space and a name.
    private static func table(_ text: String) -> [Int: String] {
        var names: [Int: String] = [:]
        for line in text.split(separator: "\n") {
            let parts = line.split(separator: " ", maxSplits: 1)
            if parts.count == 2, let number = Int(parts[0], radix: 16) { names[number] = String(parts[1]) }
        }
        return names
    }

    static func write(company: Int, to text: inout TextBuffer) { write(companies[company], company, to: &text) }
    static func write(appearance: Int, to text: inout TextBuffer) { write(self.appearance(appearance), appearance, to: &text) }

    private static func write(_ name: String?, _ number: Int, to text: inout TextBuffer) {
        text.write(hex: UInt64(truncatingIfNeeded: number), bits: 16)
        guard let name else { return }
        text.write(" (")
        text.write(name)
        text.write(")")
    }
}

extension BluetoothUUID {
    /// The UUID, with its name if it is known: `0x180D (Heart Rate)`.
    public var words: String {
        guard let short, let name = AssignedNumbers.name(uuid: short) else { return description }
        return "\(description) (\(name))"
    }
}
