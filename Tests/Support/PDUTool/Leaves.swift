import BBPackets

/// The plain values of a PDU in the order of transmission, as octets: once without and once with the counts and lengths that other fields
/// imply.
enum Leaves {
    static func json(_ fields: [DynamicField], _ declarations: [FieldDeclaration]) -> String {
        JSON.array([false, true].map { implied in JSON.array(leaves(fields, declarations, implied).map { JSON.hex($0) }) })
    }

    private static func leaves(_ fields: [DynamicField], _ declarations: [FieldDeclaration], _ withImplied: Bool) -> [[UInt8]] {
        let implied = withImplied ? [] : FieldDeclaration.implied(in: declarations)
        return fields.flatMap { field -> [[UInt8]] in
            guard !implied.contains(field.name), let declaration = declarations.first(where: { $0.name == field.name }) else { return [] }
            return leaves(field.value, declaration, withImplied)
        }
    }

    private static func leaves(_ value: FieldValue, _ declaration: FieldDeclaration, _ withImplied: Bool) -> [[UInt8]] {
        switch value {
        case .integer(let number): [(0..<declaration.width / 8).map { UInt8(truncatingIfNeeded: number >> Int128(8 * $0)) }]
        case .octets(let octets): if case .reserved = declaration.shape { octets.map { [$0] } } else { [octets] }
        case .list(let elements): elements.flatMap { leaves($0, declaration, withImplied) }
        case .structure(let fields): leaves(fields, declaration.inner, withImplied)
        }
    }
}
