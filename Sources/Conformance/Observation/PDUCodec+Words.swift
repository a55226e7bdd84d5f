import Cases
import Packets

extension PDUCodec {
    /// Describes a mismatch with value names and units.
    ///
    /// - Parameter pdu: the PDU with the values.
    static func spoken(_ mismatch: Mismatch, in pdu: DecodedLayer?) -> String { worded(mismatch, in: pdu).text }

    /// Returns the mismatch with value names and units.
    static func worded(_ mismatch: Mismatch, in pdu: DecodedLayer?) -> Mismatch {
        let path = mismatch.path.split(separator: ".")
        guard let pdu, let declaration = declaration(path[...], in: pdu.declaration?.fields ?? [], pdu.command?.returns ?? []) else {
            return mismatch
        }
        let actual = field(path[...], in: pdu.returns + pdu.fields)?.text
        return Mismatch(
            path: mismatch.path, expected: words(mismatch.expected, declaration), actual: actual ?? words(mismatch.actual, declaration))
    }

    /// Returns a single number in the notation of the field's values.
    private static func words(_ text: String, _ declaration: FieldDeclaration) -> String {
        guard let digits = text.split(separator: " ").first, let number = Int(digits), text == CaseValue.number(number).description else {
            return text
        }
        return declaration.text(.integer(Int128(number)))
    }

    private static func declaration(_ path: ArraySlice<Substring>, in fields: [FieldDeclaration]...) -> FieldDeclaration? {
        let steps = path.filter { Int($0) == nil }
        guard let name = steps.first, let found = fields.lazy.flatMap({ flat($0) }).first(where: { $0.name == name }) else { return nil }
        return steps.count == 1 ? found : declaration(steps.dropFirst()[...], in: found.inner)
    }

    private static func field(_ path: ArraySlice<Substring>, in fields: [DecodedField]) -> DecodedField? {
        guard let step = path.first else { return nil }
        let found = Int(step).map { fields.indices.contains($0) ? fields[$0] : nil } ?? fields.named(String(step))
        return path.count == 1 ? found : found.flatMap { field(path.dropFirst(), in: $0.children) }
    }
}
