/// All declared PDUs and named types, by name or by code.
public enum PDUCatalog {
    private struct Index {
        var declarations: [PDUDeclaration]
        var types: [String: NamedType]
        var typeNames: [String]
        var byName: [String: PDUDeclaration]
        var byCode: [Key: PDUDeclaration]
        var structures: [String: PDUDeclaration]
        var advertising: [Int: PDUDeclaration]
    }

    private struct Key: Hashable {
        var layer: String
        var code: Int
        var subevent: Int?

        /// The numbers are nearly unique, so the layer is only compared.
        func hash(into hasher: inout Hasher) { hasher.combine(code << 16 | (subevent ?? 0xFFFF)) }
    }

    private static let index: Index = {
        var reader = DescriptionReader()
        for text in DescriptionIndex.texts { reader.read(text) }
        var index = Index(
            declarations: reader.declarations, types: [:], typeNames: reader.types.map(\.name), byName: [:], byCode: [:],
            structures: [:], advertising: [:])
        for type in reader.types { index.types[type.name] = type }
        for declaration in reader.declarations {
            index.byName[declaration.layer + "/" + Spelling.normal(declaration.name)] = declaration
            let key = Key(layer: declaration.layer, code: declaration.code, subevent: declaration.subevent)
            if index.byCode[key] == nil { index.byCode[key] = declaration }
            if declaration.kind == .advertising, index.advertising[declaration.code] == nil {
                index.advertising[declaration.code] = declaration
            }
            if declaration.kind == .structure { index.structures[declaration.name] = declaration }
        }
        return index
    }()

    /// All declarations in the order of the files.
    public static var all: [PDUDeclaration] { index.declarations }
    /// All named types in the order of the files.
    public static var types: [NamedType] { index.typeNames.compactMap { index.types[$0] } }
    /// The layers with declarations.
    public static var layers: [String] {
        var seen: [String] = []
        for declaration in all where !seen.contains(declaration.layer) { seen.append(declaration.layer) }
        return seen
    }
    /// Returns the struct generated for a declaration.
    public static func type(of declaration: PDUDeclaration) -> (any PDU.Type)? { structs[ObjectIdentifier(declaration)] }

    private static let structs: [ObjectIdentifier: any PDU.Type] = Dictionary(
        zip(all.map { ObjectIdentifier($0) }, DescriptionIndex.types), uniquingKeysWith: { first, _ in first })

    /// Returns a PDU by name, ignoring case, `HCI_`, the layer's prefix and `[v1]`.
    public static func declaration(layer: String, name: String) -> PDUDeclaration? {
        let normal = Spelling.normal(name)
        for candidate in [normal, "att_" + normal, "l2cap_" + normal, "ll_" + normal, "lmp_" + normal, "sdp_" + normal, "rfcomm_" + normal]
        {
            if let found = index.byName[layer + "/" + candidate] { return found }
        }
        return normal.hasPrefix("smp_") ? index.byName[layer + "/" + String(normal.dropFirst(4))] : nil
    }

    /// Returns a PDU by code: an HCI opcode, an event code (with its subevent), or a link layer, ATT, SMP or LMP opcode.
    public static func declaration(layer: String, code: Int, subevent: Int? = nil) -> PDUDeclaration? {
        index.byCode[Key(layer: layer, code: code, subevent: subevent)]
    }

    /// Returns a PDU of the primary advertising channels by type.
    static func advertising(type: Int) -> PDUDeclaration? { index.advertising[type] }

    public static func command(opcode: UInt16) -> PDUDeclaration? { declaration(layer: "HCICommands", code: Int(opcode)) }

    /// Returns the name of a command, including undeclared ones.
    static func commandName(opcode: Int) -> String {
        declaration(layer: "HCICommands", code: opcode)?.name ?? DecodedLayer.name(undeclared: "HCICommands", opcode, nil)
    }

    public static func event(code: UInt8, subevent: UInt8?) -> PDUDeclaration? {
        declaration(layer: "HCIEvents", code: Int(code), subevent: subevent.map { Int($0) })
    }

    public static func type(named name: String) -> NamedType? { index.types[name] }

    /// Returns a structure inside PDUs by its declared name.
    static func structure(_ name: String) -> PDUDeclaration? { index.structures[name] }

    /// Returns the names of the layer's PDUs nearest to a misspelt one, the nearest first.
    public static func suggestions(layer: String, for name: String) -> [String] {
        Spelling.closest(to: name, among: all.filter { $0.layer == layer }.map(\.name))
    }

    /// Returns the name of a named type's value, or its number.
    static func label(_ type: String, _ value: Int) -> String {
        index.types[type]?.name(of: value) ?? Hex.number(value, bits: 8)
    }
}
