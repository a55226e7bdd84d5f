import BBCases
import BBPackets

extension PDUCodec {
    /// Describes a mismatch with value names and units.
    ///
    /// - Parameter pdu: the PDU with the values.
    static func spoken(_ mismatch: Mismatch, in pdu: DecodedLayer?) -> String { worded(mismatch, in: pdu).text }

    /// Returns the mismatch with value names and units.
    static func worded(_ mismatch: Mismatch, in pdu: DecodedLayer?) -> WordedMismatch {
        guard let pdu else { return mismatch.worded() }
        let names = ValueNames(parts: (pdu.declaration?.fields ?? []) + (pdu.command?.returns ?? []))
        let found = field(mismatch.path.split(separator: ".")[...], in: pdu.returns + pdu.fields)
        // A case writes plain octets; both sides of the message are written as there.
        return mismatch.worded(names, got: found.flatMap { $0.isPlainOctets ? nil : $0.text })
    }

    private static func field(_ path: ArraySlice<Substring>, in fields: [DecodedField]) -> DecodedField? {
        guard let step = path.first else { return nil }
        let found = Int(step).map { fields.indices.contains($0) ? fields[$0] : nil } ?? fields.named(String(step))
        return path.count == 1 ? found : found.flatMap { field(path.dropFirst(), in: $0.children) }
    }
}

extension DecodedField {
    /// The declaration does not allow the value.
    var isOutsideOfItsValues: Bool {
        guard let number = integer.flatMap({ Int(exactly: $0) }) else { return false }
        if let range = declaration.range, !range.contains(number) { return true }
        guard let type = declaration.type, !type.isFlags else { return false }
        return type.name(of: number) == nil
    }
}
