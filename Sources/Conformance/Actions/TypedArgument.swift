import BBCases
import BBPackets

/// An argument with its Swift type.
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
    /// The connection of an action: `on: $link.tester`.
    static let connection = Self(declaration: ActionArgument("on", .number(0...0x0EFF), "the connection's handle")) { value in
        value.asNumber.flatMap { UInt16(exactly: $0) }.map { ConnectionHandle(rawValue: $0) }
    }
}
