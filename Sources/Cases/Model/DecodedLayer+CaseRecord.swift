import BBPackets

extension DecodedLayer {
    /// The fields as values for predicates, with what follows the last one.
    package var caseRecord: CaseRecord {
        var record = CaseRecord(fields)
        if !trailing.isEmpty { record["trailing"] = .octets(trailingOctets) }
        return record
    }
}

extension CaseRecord {
    package init(_ fields: [DecodedField]) { self.init(fields.map { ($0.name, CaseValue($0)) }) }
}

extension CaseValue {
    fileprivate init(_ field: DecodedField) {
        if field.isList {
            self = .list(field.children.map { CaseValue($0) })
        } else if field.isStructure {
            self = .record(CaseRecord(field.children))
        } else if let integer = field.integer {
            self = Int(exactly: integer).map { .number($0) } ?? .octets(Self.littleEndian(integer))
        } else if case .uuid = field.declaration.shape, let uuid = BluetoothUUID(octets: field.octets ?? []) {
            self = .text(Self.text(uuid))
        } else {
            self = .octets(field.octets ?? [])
        }
    }

    /// Returns the octets of a number above 2^63 - 1.
    private static func littleEndian(_ integer: Int128) -> [UInt8] { (0..<8).map { UInt8(truncatingIfNeeded: integer >> (8 * $0)) } }

    private static func text(_ uuid: BluetoothUUID) -> String {
        guard let short = uuid.short else { return "\(uuid)" }
        let digits = String(short, radix: 16, uppercase: true)
        return String(repeating: "0", count: 4 - digits.count) + digits
    }
}
