/// The declaration of a PDU: its name, its code and its fields.
public final class PDUDeclaration: Sendable {
    public let layer: Layer
    /// The name in the Core Specification.
    public let name: String
    /// Opcode, event code or PDU type.
    public let code: Int
    public let subevent: Int?
    /// The section of the Core Specification that defines it.
    public let section: String
    /// For commands: the event that completes the command.
    public let completion: CommandCompletion
    /// For commands: the bit in Supported_Commands, if there is one.
    public let supportedCommandsBit: SupportedCommandsBit?
    /// For events: the mask bit; unmaskable for all other PDUs.
    public let maskPosition: EventMaskPosition
    /// The LE features of which a controller needs one to support the command or the event.
    public let neededFeatures: [String]
    public let fields: [FieldDeclaration]
    /// The return parameters of a command that is answered with Command Complete.
    public let returns: [FieldDeclaration]?
    /// True if Packets has a struct for the PDU.
    public let hasStruct: Bool

    init(
        layer: Layer, name: String, code: Int, subevent: Int?, section: String, completion: CommandCompletion,
        supportedCommandsBit: SupportedCommandsBit?, maskPosition: EventMaskPosition, neededFeatures: [String], fields: [FieldDeclaration],
        returns: [FieldDeclaration]?, hasStruct: Bool
    ) {
        self.layer = layer
        self.name = name
        self.code = code
        self.subevent = subevent
        self.section = section
        self.completion = completion
        self.supportedCommandsBit = supportedCommandsBit
        self.maskPosition = maskPosition
        self.neededFeatures = neededFeatures
        self.fields = fields
        self.returns = returns
        self.hasStruct = hasStruct
    }
}

/// A field of a PDU, or a group of fields. The text format of its values is determined when the declaration is created.
public final class FieldDeclaration: Sendable {
    /// The encoding of the field.
    public indirect enum Shape: Sendable {
        case integer(octets: Int, signed: Bool, bigEndian: Bool, type: String?)
        case bytes(Size)
        case uuid(Size)
        case bits(octets: Int, members: [FieldDeclaration])
        case bit(width: Int, type: String?)
        case reserved(octets: Int)
        case array(Count, Shape)
        case rows(Count, [FieldDeclaration])
        case nested(String)
        case block(length: String, [FieldDeclaration])
    }

    public enum Size: Sendable, Equatable {
        case fixed(Int)
        case rest
        case restLeaving(Int)
        case field(String)
        /// A data element of service discovery with its header. Core Vol 3, Part B, 3.
        case element
    }

    public enum Count: Sendable {
        case fixed(Int)
        case field(String)
        /// One element for each set bit of a field.
        case popcount(String)
        case rest
        /// Elements to the end; a field determines the octets of an element, directly or with a table.
        case restSized(String, table: [(key: Int, octets: Int)])
    }

    public let name: String
    public let shape: Shape
    /// The unit of a count and its size: `1.25` and `ms`.
    public let unit: String?
    public let scale: String?
    /// The legal values, if the specification limits them.
    public let range: ClosedRange<Int>?
    public let labels: [(value: Int, name: String)]
    /// The field is present if this bit of another field is set.
    public let condition: (field: String, bit: Int)?
    /// The named type of an integer, of bits, or of an array's elements.
    public let type: NamedType?
    /// An element of an array.
    public let element: FieldDeclaration?
    /// The text format of the values.
    let format: FieldFormat
    /// True if the field is an address whose kind is given by its format or by another field.
    let isAddressOfKind: Bool

    init(
        name: String, shape: Shape, unit: String? = nil, scale: String? = nil, range: ClosedRange<Int>? = nil,
        labels: [(value: Int, name: String)] = [], condition: (field: String, bit: Int)? = nil, hint: FieldFormat? = nil,
        types: (String) -> NamedType? = PDUCatalog.type(named:)
    ) {
        self.name = name
        self.shape = shape
        self.unit = unit
        self.scale = scale
        self.range = range
        self.labels = labels
        self.condition = condition
        if case .array(_, let inner) = shape {
            let element = FieldDeclaration(
                name: name, shape: inner, unit: unit, scale: scale, range: range, labels: labels, hint: hint, types: types)
            self.element = element
            type = element.type
            format = element.format
            isAddressOfKind = element.isAddressOfKind
            return
        }
        element = nil
        switch shape {
        case .integer(_, _, _, let named?), .bit(_, let named?): type = types(named)
        default: type = nil
        }
        format = hint ?? FieldFormat(shape: shape, type: type, unit: unit, scale: scale, labels: labels)
        switch format {
        case .typedAddress, .randomAddress: isAddressOfKind = true
        default: isAddressOfKind = false
        }
    }
}

extension PDUDeclaration {
    /// The company that defines the vendor command.
    public var company: UInt16? {
        switch section {
        case "Intel": 0x0002
        case "Realtek": 0x005D
        default: nil
        }
    }

    /// The octets between the header and a field; nil if the PDU does not have the field, or not always in the same place.
    public func offset(ofField name: String) -> Int? {
        var offset = 0
        for field in fields {
            guard field.condition == nil else { return nil }
            if field.name == name { return offset }
            guard let octets = field.shape.octets else { return nil }
            offset += octets
        }
        return nil
    }
}

extension FieldDeclaration {
    /// True for the opcode of a command, which is written as the command's name.
    public var isOpcode: Bool { if case .opcode = format { true } else { false } }
}

extension FieldDeclaration.Shape {
    /// The size of the field, if it is the same in every PDU.
    var octets: Int? {
        switch self {
        case .integer(let octets, _, _, _), .bits(let octets, _), .reserved(let octets), .bytes(.fixed(let octets)),
            .uuid(.fixed(let octets)):
            octets
        case .array(.fixed(let count), let element): element.octets.map { count * $0 }
        case .rows(.fixed(let count), let inner): inner.octets.map { count * $0 }
        case .nested(let type): PDUCatalog.structure(type)?.fields.octets
        default: nil
        }
    }
}

extension FieldDeclaration {
    /// Returns the names of the fields that follow from others: counts, lengths and presence flags. An encoder calculates them if they are
    /// not given.
    public static func implied(in fields: [FieldDeclaration]) -> Set<String> {
        var names: Set<String> = []
        for field in fields {
            if let condition = field.condition { names.insert(condition.field) }
            switch field.shape {
            case .bytes(.field(let name)), .uuid(.field(let name)), .array(.field(let name), _), .rows(.field(let name), _),
                .rows(.restSized(let name, _), _):
                names.insert(name)
            case .block(let length, let inner): names.formUnion(implied(in: inner).union([length]))
            default: break
            }
        }
        return names
    }

    /// The fields of a row or structure in this field.
    public var inner: [FieldDeclaration] {
        switch shape {
        case .rows(_, let inner): inner
        case .nested(let type): PDUCatalog.structure(type)?.fields ?? []
        default: []
        }
    }

    /// True if the field is reserved for future use: a sender sets it to 0. Core Vol 1, Part E, 2.7.
    package var isReserved: Bool {
        if case .reserved = shape { return true }
        return name.hasPrefix("RFU")
    }
}

extension [FieldDeclaration] {
    /// The fields, including those inside words and blocks.
    package var flat: [FieldDeclaration] {
        flatMap { field -> [FieldDeclaration] in
            switch field.shape {
            case .bits(_, let members): members.flat
            case .block(_, let inner): inner.flat
            default: [field]
            }
        }
    }

    /// The octets of all fields, if they are the same in every PDU.
    package var octets: Int? {
        var sum = 0
        for field in self {
            guard field.condition == nil, let octets = field.shape.octets else { return nil }
            sum += octets
        }
        return sum
    }

    /// The name of the field whose octets come last.
    package var lastName: String? { flat.last.flatMap { $0.inner.lastName ?? $0.name } }
}

/// Names for the values or bits of an integer.
public struct NamedType: Sendable {
    public let name: String
    public let octets: Int
    public let isFlags: Bool
    /// The values or bit numbers with their names.
    public let values: [(value: Int, name: String)]
    private let names: [Int: String]

    init(name: String, octets: Int, isFlags: Bool, values: [(value: Int, name: String)]) {
        self.name = name
        self.octets = octets
        self.isFlags = isFlags
        self.values = values
        names = Dictionary(values.map { ($0.value, $0.name) }, uniquingKeysWith: { first, _ in first })
    }

    /// Returns the name of a value or a bit number.
    public func name(of value: Int) -> String? { names[value] }
}
