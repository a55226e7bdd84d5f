/// A PDU as it was declared: its name, its code and its fields.
public final class PDUDeclaration: Sendable {
    public enum Kind: String, Sendable, Hashable {
        case hciCommand, hciEvent, hciData, llControl, att, smp, lmp, l2capSignaling, channel, advertising, header, structure
    }

    /// The namespace: `HCICommands`, `HCIEvents`, `LLControl`, `ATT` ...
    public let layer: String
    /// The Core Specification's name.
    public let name: String
    public let kind: Kind
    /// Opcode, event code or PDU type.
    public let code: Int
    public let subevent: Int?
    /// Where the Core Specification defines it.
    public let section: String
    /// For commands.
    public let completion: CommandCompletion
    /// For commands that have one.
    public let supportedCommandsBit: SupportedCommandsBit?
    /// For events; unmaskable for everything else.
    public let maskPosition: EventMaskPosition
    /// LE features of which a controller needs one to have the command or the event.
    public let neededFeatures: [String]
    public let fields: [FieldDeclaration]
    /// The return parameters of a command that ends in Command Complete.
    public let returns: [FieldDeclaration]?

    init(
        layer: String, name: String, kind: Kind, code: Int, subevent: Int?, section: String, completion: CommandCompletion,
        supportedCommandsBit: SupportedCommandsBit?, maskPosition: EventMaskPosition, neededFeatures: [String], fields: [FieldDeclaration],
        returns: [FieldDeclaration]?
    ) {
        self.layer = layer
        self.name = name
        self.kind = kind
        self.code = code
        self.subevent = subevent
        self.section = section
        self.completion = completion
        self.supportedCommandsBit = supportedCommandsBit
        self.maskPosition = maskPosition
        self.neededFeatures = neededFeatures
        self.fields = fields
        self.returns = returns
    }
}

/// One field of a PDU, or a group of fields. What its values look like in words is worked out once, when the declaration is made.
public final class FieldDeclaration: Sendable {
    /// How the field lies on the wire.
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
        /// One data element of service discovery, its header included. Core Vol 3, Part B, 3.
        case element
    }

    public enum Count: Sendable {
        case fixed(Int)
        case field(String)
        /// One element per set bit of a field.
        case popcount(String)
        case rest
        /// To the end; a field gives the octets of an element, directly or by a table.
        case restSized(String, table: [(key: Int, octets: Int)])
    }

    public let name: String
    public let shape: Shape
    /// The unit, and how many of it one count is: `1.25` and `ms`.
    public let unit: String?
    public let scale: String?
    /// The legal values, where the specification limits them.
    public let range: ClosedRange<Int>?
    public let labels: [(value: Int, name: String)]
    /// The field is present when this bit of that field is set.
    public let condition: (field: String, bit: Int)?
    /// The named type of an integer or of bits, also of an array's elements.
    public let type: NamedType?
    /// One element of an array.
    public let element: FieldDeclaration?
    /// How its values are written.
    let format: FieldFormat
    /// An address whose kind its format tells, or another field.
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
        format = hint ?? FieldFormat(name: name, shape: shape, type: type, unit: unit, scale: scale, labels: labels)
        switch format {
        case .typedAddress, .randomAddress: isAddressOfKind = true
        default: isAddressOfKind = false
        }
    }
}

extension PDUDeclaration {
    /// The company whose vendor command this is.
    public var company: UInt16? {
        switch section {
        case "Intel": 0x0002
        case "Realtek": 0x005D
        default: nil
        }
    }
}

extension FieldDeclaration {
    /// The names of the fields that follow from others: counts, lengths and flags of presence. An encoder works them out when they are not given.
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

    /// The fields of a row or of a structure inside this one.
    public var inner: [FieldDeclaration] {
        switch shape {
        case .rows(_, let inner): inner
        case .nested(let type): PDUCatalog.structure(type)?.fields ?? []
        default: []
        }
    }
}

/// Names for the values, or the bits, of an integer.
public struct NamedType: Sendable {
    public let name: String
    public let octets: Int
    public let isFlags: Bool
    /// Values, or bit numbers.
    public let values: [(value: Int, name: String)]
    private let names: [Int: String]

    init(name: String, octets: Int, isFlags: Bool, values: [(value: Int, name: String)]) {
        self.name = name
        self.octets = octets
        self.isFlags = isFlags
        self.values = values
        names = Dictionary(values.map { ($0.value, $0.name) }, uniquingKeysWith: { first, _ in first })
    }

    /// The name of a value, or of a bit's number.
    public func name(of value: Int) -> String? { names[value] }
}
