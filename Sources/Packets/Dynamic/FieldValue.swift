/// The value of a field whose type is known only at run time.
public enum FieldValue: Sendable, Hashable {
    case integer(Int128)
    case octets([UInt8])
    case list([FieldValue])
    case structure([DynamicField])

    public var integer: Int128? {
        if case .integer(let value) = self { value } else { nil }
    }

    /// The integer, if it can be represented.
    public var int: Int? { integer.flatMap { Int(exactly: $0) } }

    public var octets: [UInt8]? {
        if case .octets(let value) = self { value } else { nil }
    }

    public var list: [FieldValue]? {
        if case .list(let value) = self { value } else { nil }
    }

    public var structure: [DynamicField]? {
        if case .structure(let value) = self { value } else { nil }
    }
}

extension FieldValue: ExpressibleByIntegerLiteral {
    public init(integerLiteral value: Int) { self = .integer(Int128(value)) }
}

extension FieldValue: ExpressibleByArrayLiteral {
    /// Creates a list; use `.octets` for octets.
    public init(arrayLiteral elements: FieldValue...) { self = .list(elements) }
}

/// A field's name and value.
public struct DynamicField: Sendable, Hashable {
    public var name: String
    public var value: FieldValue

    public init(_ name: String, _ value: FieldValue) {
        self.name = name
        self.value = value
    }
}

/// An error of the caller of a dynamic PDU: a name or a value that the declaration does not know.
public enum DynamicPDUError: Error, Sendable, Hashable {
    case unknownPDU(layer: Layer, name: String, suggestions: [String])
    case unknownField(pdu: String, name: String, suggestions: [String])
    /// The value cannot be encoded in the field.
    case doesNotFit(pdu: String, field: String, reason: String)
}

extension DynamicPDUError: CustomStringConvertible {
    public var description: String {
        func hint(_ names: [String]) -> String { names.isEmpty ? "" : "; did you mean \(names.joined(separator: " or "))?" }
        return switch self {
        case .unknownPDU(let layer, let name, let suggestions): "\(layer) has no \(name)\(hint(suggestions))"
        case .unknownField(let pdu, let name, let suggestions): "\(pdu) has no field \(name)\(hint(suggestions))"
        case .doesNotFit(let pdu, let field, let reason): "\(pdu): \(field) \(reason)"
        }
    }
}
