/// Names for numbers that the Bluetooth SIG assigns: companies, UUIDs, appearances. The well-known ones; any other number stays a number.
public enum AssignedNumbers {
    /// A company's short name.
    public static func company(_ identifier: Int) -> String? { companies[identifier] }

    /// What a 16-bit UUID stands for: a service, a declaration, a descriptor, a characteristic.
    public static func name(uuid: UInt16) -> String? { uuids[Int(uuid)] }

    /// An appearance, or its category where the kind within it has no name.
    public static func appearance(_ value: Int) -> String? { appearances[value] ?? appearances[value & ~0x3F] }

    private static let companies = table(companyNames)
    private static let uuids = table(serviceNames).merging(table(attributeNames)) { first, _ in first }
    private static let appearances = table(appearanceNames)

    /// A line each: the number in hexadecimal, a blank, the name.
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
    /// The UUID, with its name where it has a well-known one: `0x180D (Heart Rate)`.
    public var words: String {
        guard let short, let name = AssignedNumbers.name(uuid: short) else { return description }
        return "\(description) (\(name))"
    }
}
