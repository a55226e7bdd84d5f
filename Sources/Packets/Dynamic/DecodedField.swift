/// A field of a decoded PDU: its name, its value and the position of its octets.
public struct DecodedField: Sendable {
    enum Content: Sendable {
        case integer(Int128)
        case octets([UInt8])
        /// A list with the elements as children.
        case list
        /// A structure with its fields as children.
        case structure
    }

    /// The declaration with unit, labels and legal values.
    public let declaration: FieldDeclaration
    /// The range of the field in the octets of the layer. A member of a word has the word's range.
    public var range: Range<Int>
    /// The elements of a list, the fields of a structure, or the decoded contents of octets such as advertising data.
    public var children: [DecodedField]
    /// The kind of an address.
    public var addressKind: DeviceAddress.Kind?
    /// Name of the value where it depends on more than the field; replaces the declared label in text.
    public internal(set) var label: String?
    var content: Content

    init(
        _ declaration: FieldDeclaration, _ content: Content, _ range: Range<Int>, children: [DecodedField] = [],
        addressKind: DeviceAddress.Kind? = nil
    ) {
        self.declaration = declaration
        self.content = content
        self.range = range
        self.children = children
        self.addressKind = addressKind
    }

    public var name: String { declaration.name }

    public var value: FieldValue {
        switch content {
        case .integer(let number): .integer(number)
        case .octets(let octets): .octets(octets)
        case .list: .list(children.map(\.value))
        case .structure: .structure(children.map { DynamicField($0.name, $0.value) })
        }
    }

    public var integer: Int128? { if case .integer(let number) = content { number } else { nil } }
    public var octets: [UInt8]? { if case .octets(let octets) = content { octets } else { nil } }
    /// The integer, if it can be represented.
    public var int: Int? { integer.flatMap { Int(exactly: $0) } }
    /// True for octets that are neither a UUID nor text.
    public var isPlainOctets: Bool {
        guard octets != nil else { return false }
        return switch declaration.format {
        case .uuid, .text: false
        default: true
        }
    }
    public var isList: Bool { if case .list = content { true } else { false } }
    public var isStructure: Bool { if case .structure = content { true } else { false } }
}

extension DecodedField {
    /// Creates a value without octets, to format it as text.
    init(_ declaration: FieldDeclaration, value: FieldValue) {
        switch value {
        case .integer(let number): self.init(declaration, .integer(number), 0..<0)
        case .octets(let octets):
            self.init(declaration, .octets(octets), 0..<0)
            if case .advertisingData = declaration.format { children = AdvertisingStructure.fields(octets, 0..<octets.count) }
        case .list(let values):
            let element = declaration.element ?? declaration
            self.init(declaration, .list, 0..<0, children: values.map { DecodedField(element, value: $0) })
        case .structure(let fields):
            self.init(declaration, .structure, 0..<0, children: Self.fields(fields, declaration.inner))
        }
    }

    static func fields(_ fields: [DynamicField], _ declarations: [FieldDeclaration]) -> [DecodedField] {
        var decoded = fields.map { field in
            DecodedField(
                PDUDeclaration.declared(field.name, declarations) ?? FieldDeclaration(name: field.name, shape: .bytes(.rest)),
                value: field.value)
        }
        tellAddressKinds(&decoded)
        return decoded
    }

    /// Sets the kind of each address from the field beside it. Core Vol 4, Part E, 7.7.65.1: odd types are random.
    static func tellAddressKinds(_ fields: inout [DecodedField]) {
        for index in fields.indices where fields[index].declaration.isAddressOfKind {
            switch fields[index].declaration.format {
            case .randomAddress: fields[index].addressKind = .random
            case .typedAddress(let name):
                guard let type = fields.first(where: { $0.name == name })?.int, type != 0xFF else { continue }
                fields[index].addressKind = type == 0xFE || type & 1 == 1 ? .random : .public
            default: break
            }
        }
    }
}

extension [DecodedField] {
    /// Returns the field with the declared name.
    public func named(_ name: String) -> DecodedField? { first { $0.name == name } }
}
