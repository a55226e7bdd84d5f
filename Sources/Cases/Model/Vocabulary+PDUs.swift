import BBPackets
import BBTiming

extension Vocabulary {
    /// The declared PDUs that cases, rules and conditions may name, with the names of alternative events. Fields are read when they are
    /// first needed.
    package static let declaredPDUs: [PDU] = {
        let layers = Set<Layer>.answered.union(Set<Layer>.observed).subtracting([.hciData])
        let declared = PDUCatalog.all.filter { layers.contains($0.layer) }.map { declaration in
            PDU(name: declaration.name, layer: declaration.layer) { shape(of: declaration) }
        }
        return declared
            + AlternativeEvents.all.map { name, events in
                PDU(name: name, layer: .hciEvents) { PDU.Shape(fields: common(to: events)) }
            }
    }()

    private static let shapes = Memo<ObjectIdentifier, PDU.Shape>()

    private static func shape(of declaration: PDUDeclaration) -> PDU.Shape {
        shapes(ObjectIdentifier(declaration)) {
            let layer = declaration.layer
            let isData = Set<Layer>.data.contains(layer)
            var fields = fields(declaration.fields, isCommand: layer == .hciCommands)
            if declaration.name == HCIEvents.CommandComplete.name { fields = fields.map { $0.ofUnknownCommand } }
            if Set<Layer>.onConnections.contains(layer) { fields.append(Field("Connection_Handle", .number(0...0x0EFF))) }
            if layer == .att || isData { fields.append(Field(L2CAPFrame.channel, .number(0...0xFFFF))) }
            if layer == .l2capSignaling || isData { fields.append(Field("Identifier", .number(0...0xFFFF))) }
            if !Set<Layer>.answered.contains(layer) { fields.append(Field("trailing", .octets(atMost: nil))) }
            return PDU.Shape(fields: fields, returns: returns(of: declaration))
        }
    }

    fileprivate static let commandOpcodes = Dictionary(
        PDUCatalog.all.filter { $0.layer == .hciCommands }.map { ($0.name, $0.code) }
    ) { first, _ in first }

    private static func returns(of declaration: PDUDeclaration) -> [Field]? {
        switch declaration.layer {
        case .hciCommands where declaration.completion == .status: return nil
        case .btpCommands:
            let response = PDUCatalog.declaration(layer: .btpResponses, name: declaration.name)
            return fields(response?.fields ?? []) + [BTPAnswer.field]
        default: return declaration.returns.map { fields($0) }
        }
    }

    /// Returns the fields that all the events have.
    private static func common(to events: [String]) -> [Field] {
        let all = events.compactMap { PDUCatalog.declaration(layer: .hciEvents, name: $0).map { shape(of: $0).fields } }
        guard let first = all.first else { return [] }
        return first.filter { field in all.allSatisfy { $0.contains { $0.name == field.name } } }
    }

    private static func fields(_ declarations: [FieldDeclaration], isCommand: Bool = false) -> [Field] {
        let implied = FieldDeclaration.implied(in: declarations)
        return declarations.flat.map { declaration in
            var field = Field(declaration, declaration.shape)
            field.label(declaration)
            field.isRequired = isCommand && declaration.isConnectionHandle
            if !implied.contains(declaration.name) { field.initial = field.least(of: declaration.range) }
            return field
        }
    }
}

extension Vocabulary.Field {
    fileprivate init(_ declaration: FieldDeclaration, _ shape: FieldDeclaration.Shape) {
        let name = declaration.name
        switch shape {
        case .integer(_, _, _, "BDADDR"?): self.init(name, .address)
        case .integer(let octets, let signed, _, _): self.init(name, .number(Self.span(bits: octets * 8, signed: signed)))
        case .bit(let width, _): self.init(name, .number(Self.span(bits: width, signed: false)))
        case .bytes(.fixed(let count)), .reserved(let count): self.init(name, .octets(atMost: count))
        case .bytes: self.init(name, .octets(atMost: nil))
        case .uuid: self.init(name, .uuid)
        case .array(_, let element):
            var inner = Vocabulary.Field(declaration, element)
            inner.label(declaration)
            self.init(name, .list, element: [inner])
        case .rows(_, let inner): self.init(name, .rows, columns: Self.columns(inner))
        case .nested(let type):
            self.init(name, .record, columns: Self.columns(PDUCatalog.declaration(layer: .structures, name: type)?.fields ?? []))
        case .bits, .block: self.init(name)
        }
    }

    /// The return parameters of a command that is not known, which begin with a status; other fields stay as they are.
    fileprivate var ofUnknownCommand: Self {
        guard case .octets = kind else { return self }
        let status = PDUCatalog.declaration(layer: .hciEvents, name: HCIEvents.CommandStatus.name)?.fields ?? []
        return withParts(Self.columns(status.filter { $0.name == "Status" }))
    }

    /// The field with these parts, without its kind: the return parameters have the fields of the command that the event names.
    func withParts(_ parts: [Self]) -> Self {
        var field = Vocabulary.Field(name)
        field.columns = parts
        return field
    }

    private static func columns(_ declarations: [FieldDeclaration]) -> [Vocabulary.Field] {
        declarations.flat.map { declaration in
            var field = Vocabulary.Field(declaration, declaration.shape)
            field.label(declaration)
            field.initial = field.least(of: declaration.range)
            return field
        }
    }

    /// Returns the range of a number with this many bits; of 64 bits the half that `Int` can represent.
    private static func span(bits: Int, signed: Bool) -> ClosedRange<Int> {
        if bits >= 63 { return (signed ? Int.min : 0)...Int.max }
        return signed ? -(1 << (bits - 1))...(1 << (bits - 1)) - 1 : 0...(1 << bits) - 1
    }

    fileprivate mutating func label(_ declaration: FieldDeclaration) {
        guard let type = declaration.type else {
            labels = declaration.isOpcode ? Vocabulary.commandOpcodes : Self.table(declaration.labels)
            return
        }
        isFlags = type.isFlags
        let shared = Self.labelsOfTypes[type.name] ?? [:]
        labels = declaration.labels.isEmpty ? shared : Self.table(declaration.labels).merging(shared) { $1 }
    }

    private static func table(_ values: [(value: Int, name: String)]) -> [String: Int] {
        Dictionary(values.map { ($0.name, $0.value) }) { $1 }
    }

    /// The labels of each named type; many fields share them.
    private static let labelsOfTypes: [String: [String: Int]] = PDUCatalog.types.reduce(into: [:]) { all, type in
        let values = type.values.filter { !type.isFlags || $0.value < 63 }
        all[type.name] = table(values.map { (type.isFlags ? 1 << $0.value : $0.value, $0.name) })
    }

    /// Returns 0 if it is legal, otherwise the smallest legal value.
    fileprivate func least(of range: ClosedRange<Int>?) -> Int {
        guard case .number = kind, !isFlags else { return 0 }
        if let range { return range.contains(0) ? 0 : range.lowerBound }
        return labels.isEmpty || labels.values.contains(0) ? 0 : labels.values.min() ?? 0
    }
}

extension FieldDeclaration {
    fileprivate var isConnectionHandle: Bool {
        switch shape {
        case .integer(_, _, _, "ConnectionHandle"?), .bit(_, "ConnectionHandle"?): true
        default: false
        }
    }
}
