import BBPackets

/// An argument of an action.
public struct ActionArgument: Sendable {
    public enum Kind: Sendable, Hashable {
        case number(ClosedRange<Int>)
        /// A number with named values.
        case named([String: Int])
        case octets
        case uuid
        case address
    }

    public let name: String
    public let kind: Kind
    /// The default value; nil if the argument is required.
    public let initial: CaseValue?
    public let about: String

    public init(_ name: String, _ kind: Kind, default initial: CaseValue? = nil, _ about: String) {
        self.name = name
        self.kind = kind
        self.initial = initial
        self.about = about
    }
}

extension ActionArgument {
    /// The field description of the argument's values.
    var asField: Vocabulary.Field {
        switch kind {
        case .number(let range): Vocabulary.Field(name, .number(range))
        case .named(let labels): Vocabulary.Field(name, labels: labels)
        case .octets: Vocabulary.Field(name, .octets(atMost: nil))
        case .uuid: Vocabulary.Field(name, .uuid)
        case .address: Vocabulary.Field(name, .address)
        }
    }
}

extension ActionArgument.Kind: CustomStringConvertible {
    public func accepts(_ value: CaseValue) -> Bool {
        switch self {
        case .number(let range): value.asNumber.map(range.contains) ?? false
        case .named(let labels): value.asNumber.map(labels.values.contains) ?? false
        case .octets: value.asOctets != nil
        case .uuid: value.asUUID != nil
        case .address: value.asDeviceAddress != nil
        }
    }

    public var description: String {
        switch self {
        case .number(let range): "a number of \(range.lowerBound) to \(range.upperBound)"
        case .named(let labels): "one of \(labels.keys.sorted().joined(separator: ", "))"
        case .octets: "octets"
        case .uuid: "a UUID"
        case .address: "a device address"
        }
    }
}
