/// All declared PDUs and named types, by name or by code.
public enum PDUCatalog {
    private struct Index {
        var declarations: [PDUDeclaration]
        var types: [String: NamedType]
        var typeNames: [String]
        var byName: [Layer: [String: PDUDeclaration]]
        var byCode: [Key: PDUDeclaration]
        var structures: [String: PDUDeclaration]
        var advertising: [Int: PDUDeclaration]
    }

    private struct Key: Hashable {
        var layer: Layer
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
            index.byName[declaration.layer, default: [:]][Spelling.normal(declaration.name)] = declaration
            let key = Key(layer: declaration.layer, code: declaration.code, subevent: declaration.subevent)
            if index.byCode[key] == nil { index.byCode[key] = declaration }
            if declaration.layer == .advertising, index.advertising[declaration.code] == nil {
                index.advertising[declaration.code] = declaration
            }
            if declaration.layer == .structures { index.structures[declaration.name] = declaration }
        }
        return index
    }()

    /// All declarations in the order of the files.
    public static var all: [PDUDeclaration] { index.declarations }
    /// All named types in the order of the files.
    public static var types: [NamedType] { index.typeNames.compactMap { index.types[$0] } }
    /// The layers that have declarations.
    public static var layers: [Layer] { Layer.allCases.filter { index.byName[$0] != nil } }
    /// Returns the struct of a declaration; nil if it has none.
    public static func type(of declaration: PDUDeclaration) -> (any PDU.Type)? { structs[ObjectIdentifier(declaration)] }

    private static let structs: [ObjectIdentifier: any PDU.Type] = Dictionary(
        zip(all.filter(\.hasStruct).map { ObjectIdentifier($0) }, DescriptionIndex.types), uniquingKeysWith: { first, _ in first })

    /// A PDU by its name; case, `HCI_`, the layer's prefix and `[v1]` do not matter.
    public static func declaration(layer: Layer, name: String) -> PDUDeclaration? {
        guard let names = index.byName[layer] else { return nil }
        let normal = Spelling.normal(name)
        if let found = names[normal] ?? names[Spelling.normal(layer.prefix) + normal] { return found }
        return normal.hasPrefix("smp_") ? names[String(normal.dropFirst(4))] : nil
    }

    /// A PDU by its code: an HCI opcode, an event code (with its subevent), a link layer, ATT, SMP or LMP opcode.
    public static func declaration(layer: Layer, code: Int, subevent: Int? = nil) -> PDUDeclaration? {
        index.byCode[Key(layer: layer, code: code, subevent: subevent)]
    }

    /// A PDU of the advertising channels by type.
    ///
    /// - Parameter secondary: true on an auxiliary channel, where some types have other meanings.
    public static func advertising(type: Int, secondary: Bool) -> PDUDeclaration? {
        (secondary ? auxiliary[type] : nil) ?? index.advertising[type]
    }

    private static let auxiliary = AdvertisingNames.auxiliary.compactMapValues { declaration(layer: .advertising, name: $0) }

    public static func command(opcode: UInt16) -> PDUDeclaration? { declaration(layer: .hciCommands, code: Int(opcode)) }

    /// Returns the name of a command, including undeclared ones.
    static func commandName(opcode: Int) -> String {
        declaration(layer: .hciCommands, code: opcode)?.name ?? DecodedLayer.name(undeclared: .hciCommands, opcode, nil)
    }

    public static func event(code: UInt8, subevent: UInt8?) -> PDUDeclaration? {
        declaration(layer: .hciEvents, code: Int(code), subevent: subevent.map { Int($0) })
    }

    public static func type(named name: String) -> NamedType? { index.types[name] }

    /// Returns a structure inside PDUs by its declared name.
    static func structure(_ name: String) -> PDUDeclaration? { index.structures[name] }

    /// Names of the layer's PDUs close to a misspelt one, the closest first.
    public static func suggestions(layer: Layer, for name: String) -> [String] {
        Spelling.closest(to: name, among: all.filter { $0.layer == layer }.map(\.name))
    }

    /// Returns the name of a named type's value, or its number.
    static func label(_ type: String, _ value: Int) -> String {
        index.types[type]?.name(of: value) ?? Hex.number(value, bits: 8)
    }
}
