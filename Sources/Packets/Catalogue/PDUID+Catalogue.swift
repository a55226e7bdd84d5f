extension PDUDeclaration {
    /// The PDU among all layers, which leads to its relations to others.
    public var id: PDUID { PDUID(layer, code: code, subevent: subevent) }
}

extension DynamicPDU {
    public var id: PDUID { PDUID(layer, code: code, subevent: subevent) }

    /// The code in the fields that name the accepted or refused request; nil for other PDUs, and where it is the pending one.
    public var answeredCode: Int? {
        guard case .named(let fields)? = id.accepts ?? id.refuses else { return nil }
        var code = 0
        for field in fields {
            guard let octet = self[field]?.int else { return nil }
            code = code << 8 | octet & 0xFF
        }
        return code
    }
}

extension DecodedLayer {
    /// The PDU among all layers; nil for an undeclared one.
    public var id: PDUID? { declaration?.id }
}

extension PDUID {
    /// The declared name; the code of an undeclared PDU.
    public var name: String { PDUCatalog.declaration(self)?.name ?? Hex.number(code, bits: 16) }
}

extension PDUCatalog {
    /// The declaration of a PDU.
    public static func declaration(_ id: PDUID) -> PDUDeclaration? {
        let number = Int(id.rawValue >> 24)
        guard Layer.allCases.indices.contains(number) else { return nil }
        return declaration(layer: Layer.allCases[number], code: id.code, subevent: id.subevent)
    }
}
