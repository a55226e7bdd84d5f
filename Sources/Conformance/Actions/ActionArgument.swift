import Packets

/// What an action takes under one name.
public struct ActionArgument: Sendable {
    public enum Kind: Sendable, Hashable {
        case number(ClosedRange<Int>)
        /// A number that is written by name.
        case named([String: Int])
        case octets
        case uuid
        case address
    }

    public let name: String
    public let kind: Kind
    /// What it is when a case leaves it out; nil if a case must give it.
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
    /// What a value for the argument must be like.
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

/// An argument with the type that the action reads.
struct TypedArgument<Value>: Sendable {
    let declaration: ActionArgument
    let read: @Sendable (CaseValue) -> Value?
}

extension TypedArgument<Int> {
    static func number(_ name: String, _ range: ClosedRange<Int>, default initial: Int? = nil, _ about: String) -> Self {
        Self(declaration: ActionArgument(name, .number(range), default: initial.map { .number($0) }, about)) { $0.asNumber }
    }
}

extension TypedArgument<Bool> {
    static func flag(_ name: String, default initial: Bool, _ about: String) -> Self {
        Self(declaration: ActionArgument(name, .number(0...1), default: .number(initial ? 1 : 0), about)) { $0.asNumber.map { $0 != 0 } }
    }
}

extension TypedArgument<Int> {
    static func named(_ name: String, _ labels: [String: Int], default initial: Int? = nil, _ about: String) -> Self {
        Self(declaration: ActionArgument(name, .named(labels), default: initial.map { .number($0) }, about)) { $0.asNumber }
    }
}

extension TypedArgument<[UInt8]> {
    static func octets(_ name: String, default initial: [UInt8]? = nil, _ about: String) -> Self {
        Self(declaration: ActionArgument(name, .octets, default: initial.map { .octets($0) }, about)) { $0.asOctets }
    }
}

extension TypedArgument<BluetoothUUID> {
    static func uuid(_ name: String, _ about: String) -> Self { Self(declaration: ActionArgument(name, .uuid, about)) { $0.asUUID } }
}

extension TypedArgument<UInt64> {
    static func address(_ name: String, _ about: String) -> Self {
        Self(declaration: ActionArgument(name, .address, about)) { $0.asDeviceAddress }
    }
}

extension TypedArgument<ConnectionHandle> {
    /// The connection that an action works on: `on: $link.tester`.
    static let connection = Self(declaration: ActionArgument("on", .number(0...0x0EFF), "the connection's handle")) { value in
        value.asNumber.flatMap { UInt16(exactly: $0) }.map { ConnectionHandle(rawValue: $0) }
    }
}

extension CaseValue {
    /// A device address written out, or as the number that a PDU carries.
    var asDeviceAddress: UInt64? {
        asAddress ?? asNumber.flatMap { UInt64(exactly: $0) }.flatMap { $0 < 1 << 48 ? $0 : nil }
    }

    var asUUID: BluetoothUUID? {
        switch self {
        case .text(let text): BluetoothUUID(text)
        case .number(let number): UInt16(exactly: number).map { BluetoothUUID($0) }
        case .octets, .list, .record: nil
        }
    }
}
