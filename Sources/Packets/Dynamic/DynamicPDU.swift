/// A PDU as names and values, valid or not. Unlike a typed struct it can contain values out of range, contradictory counts, and too few or
/// too many octets.
public struct DynamicPDU: Sendable {
    /// Nil for an undeclared PDU; its parameters are then in `trailing`.
    public var declaration: PDUDeclaration?
    /// The layer, also of an undeclared PDU.
    public var layer: Layer
    /// Opcode, event code or PDU type.
    public var code: Int
    public var subevent: Int?
    /// The values in the order of the declaration. Omitted ones are encoded as zero; omitted counts and lengths are calculated.
    public var fields: [DynamicField]
    /// The octets after the last field that could be decoded.
    public var trailing: [UInt8] = []
    /// The reason why decoding stopped early.
    public var problem: PDUError?
    /// The identifier of an L2CAP signalling command, the transaction ID of a PDU of LMP or SDP, the transaction label of AVDTP.
    public var identifier: UInt16?
    /// The length in the PDU's header, if it is wrong; encoding keeps it.
    public var lengthInHeader: Int?

    /// True to stop encoding at the first missing field, as in the decoded packet.
    var endsEarly: Bool = false
    /// True if there are too few octets for the header of the layer: `trailing` is the whole packet.
    var isBare: Bool = false

    public var name: String { declaration?.name ?? DecodedLayer.name(undeclared: layer, code, subevent) }

    /// A PDU by name. Field names are checked; values only for fitting their fields, when it is encoded.
    public init(layer: Layer, name: String, _ values: [DynamicField] = [], trailing: [UInt8] = []) throws(DynamicPDUError) {
        guard let declaration = PDUCatalog.declaration(layer: layer, name: name) else {
            throw .unknownPDU(layer: layer, name: name, suggestions: PDUCatalog.suggestions(layer: layer, for: name))
        }
        self.init(declaration, [], trailing: trailing)
        fields = try declaration.ordered(values, declaration.fields)
        guard let returns = command?.returns, let index = returnsIndex, case .structure(let values) = fields[index].value else { return }
        fields[index].value = .structure(try declaration.ordered(values, returns))
    }

    init(_ declaration: PDUDeclaration, _ fields: [DynamicField], trailing: [UInt8] = []) {
        self.declaration = declaration
        layer = declaration.layer
        code = declaration.code
        subevent = declaration.subevent
        self.fields = fields
        self.trailing = trailing
    }

    /// Decodes a PDU's parameters.
    public init(_ declaration: PDUDeclaration, parameters: [UInt8]) {
        self.init(DecodedLayer(declaration, parameters, 0..<parameters.count))
    }

    /// Returns the parameters, without the header that identifies the PDU.
    public func parameters() throws(DynamicPDUError) -> [UInt8] {
        guard let declaration else { return trailing }
        var values = fields
        if let index = returnsIndex, case .structure(let returns) = values[index].value {
            values[index].value = .octets(try encoded(returns: returns))
        }
        var encoder = DynamicEncoder(pdu: declaration.name, endsEarly: endsEarly)
        _ = try encoder.fields(declaration.fields, values)
        return encoder.bytes + trailing
    }
}

extension DynamicPDU: Equatable {
    public static func == (a: DynamicPDU, b: DynamicPDU) -> Bool {
        a.layer == b.layer && a.code == b.code && a.subevent == b.subevent && a.fields == b.fields && a.trailing == b.trailing
            && a.identifier == b.identifier
    }
}

extension PDUDeclaration {
    /// Returns a field of this PDU, including fields inside a word or a block; case is ignored.
    public func field(named name: String) -> FieldDeclaration? { Self.find(Spelling.normal(name), fields) }

    /// Returns a field of the return parameters.
    public func returnField(named name: String) -> FieldDeclaration? { returns.flatMap { Self.find(Spelling.normal(name), $0) } }

    /// The names of all fields.
    public var fieldNames: [String] { Self.names(fields) }

    static func names(_ fields: [FieldDeclaration]) -> [String] {
        fields.flatMap { field -> [String] in
            switch field.shape {
            case .bits(_, let members): names(members)
            case .block(_, let inner): names(inner)
            default: [field.name]
            }
        }
    }

    /// Returns the field with exactly this name, including fields inside a word or a block.
    static func declared(_ name: String, _ fields: [FieldDeclaration]) -> FieldDeclaration? {
        for field in fields {
            switch field.shape {
            case .bits(_, let inner), .block(_, let inner): if let found = declared(name, inner) { return found }
            default: if field.name == name { return field }
            }
        }
        return nil
    }

    static func find(_ normal: String, _ fields: [FieldDeclaration]) -> FieldDeclaration? {
        for field in fields {
            switch field.shape {
            case .bits(_, let members): if let found = find(normal, members) { return found }
            case .block(_, let inner): if let found = find(normal, inner) { return found }
            default: if Spelling.normal(field.name) == normal { return field }
            }
        }
        return nil
    }

    /// Returns the values in the declared order and spelling, including those of rows and structures.
    func ordered(_ values: [DynamicField], _ fields: [FieldDeclaration]) throws(DynamicPDUError) -> [DynamicField] {
        let names = Self.names(fields)
        var placed: [(Int, DynamicField)] = []
        for value in values {
            let normal = Spelling.normal(value.name)
            guard let field = Self.find(normal, fields), let position = names.firstIndex(of: field.name) else {
                throw .unknownField(pdu: name, name: value.name, suggestions: Spelling.closest(to: value.name, among: names))
            }
            placed.append((position, DynamicField(field.name, try ordered(value.value, field))))
        }
        placed.sort { $0.0 < $1.0 }
        return placed.map(\.1)
    }

    private func ordered(_ value: FieldValue, _ field: FieldDeclaration) throws(DynamicPDUError) -> FieldValue {
        switch (field.shape, value) {
        case (.rows(_, let inner), .list(let rows)):
            var result: [FieldValue] = []
            for row in rows {
                if case .structure(let fields) = row { result.append(.structure(try ordered(fields, inner))) } else { result.append(row) }
            }
            return .list(result)
        case (.nested(let type), .structure(let fields)):
            guard let nested = PDUCatalog.structure(type) else { return value }
            return .structure(try ordered(fields, nested.fields))
        default: return value
        }
    }
}
