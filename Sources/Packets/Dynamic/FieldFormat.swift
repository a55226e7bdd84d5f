/// The text format of a field's values.
enum FieldFormat: Sendable {
    case decimal
    case pattern(bits: Int)
    case address
    /// An address whose kind is in the field of that name.
    case typedAddress(kind: String)
    case randomAddress
    case named(NamedType, bits: Int)
    case flags(NamedType, bits: Int)
    case labels(bits: Int)
    case opcode
    case company
    case appearance
    case quantity(factor: Double?, unit: String)
    case uuid
    case octets
    case text
    case advertisingData
    /// All pages of LE features in order: 64 features on page 0, and 192 on each of ten further pages. Core Vol 6, Part B, 4.6.
    case features

    /// Returns the format that follows from the type, the unit and the labels.
    init(shape: FieldDeclaration.Shape, type: NamedType?, unit: String?, scale: String?, labels: [(value: Int, name: String)]) {
        let bits: Int
        switch shape {
        case .integer(_, _, _, "BDADDR"):
            self = .address
            return
        case .integer(let octets, _, _, let named):
            bits = octets * 8
            if named == "ConnectionHandle" {
                self = .pattern(bits: bits)
                return
            }
        case .bit(let width, let named):
            bits = width
            if named == "ConnectionHandle" {
                self = .pattern(bits: 16)
                return
            }
        case .uuid:
            self = .uuid
            return
        default:
            self = .octets
            return
        }
        if let type {
            self = type.isFlags ? .flags(type, bits: bits) : .named(type, bits: bits)
        } else if !labels.isEmpty {
            self = .labels(bits: bits)
        } else if let unit {
            self = .quantity(factor: scale.flatMap(Double.init), unit: unit)
        } else {
            self = bits > 32 ? .pattern(bits: bits) : .decimal
        }
    }

    /// Returns the format with a word of a declaration: `as(hex)`.
    init?(declared word: String, _ shape: FieldDeclaration.Shape) {
        switch word {
        case "hex": self = .pattern(bits: Self.bits(of: shape))
        case "text": self = .text
        case "opcode": self = .opcode
        case "company": self = .company
        case "advertising-data": self = .advertisingData
        case "random-address": self = .randomAddress
        case "features": self = .features
        default: return nil
        }
    }

    private static func bits(of shape: FieldDeclaration.Shape) -> Int {
        switch shape {
        case .integer(let octets, _, _, _): octets * 8
        case .bit(let width, _): width
        case .array(_, let element): bits(of: element)
        case .bytes, .uuid, .bits, .reserved, .rows, .nested, .block: 0
        }
    }
}
