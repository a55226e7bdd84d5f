/// A quirk with its effect on a configuration.
public struct Quirk<Target>: Sendable {
    public typealias Effect = @Sendable (inout Target, QuirkValue) -> Void

    public let declaration: QuirkDeclaration
    public let apply: Effect

    public init(_ declaration: QuirkDeclaration, _ apply: @escaping Effect) {
        (self.declaration, self.apply) = (declaration, apply)
    }

    public var name: String { declaration.name }
}

extension Quirk {
    public typealias Field<Value> = WritableKeyPath<Target, Value> & Sendable

    /// A field that is true with the quirk.
    public static func flag(
        _ name: String, _ part: QuirkDeclaration.Part, _ field: Field<Bool>, allowedBy: String? = nil, violates: String? = nil,
        _ text: String
    ) -> Quirk {
        Quirk(QuirkDeclaration(name, part, allowedBy: allowedBy, violates: violates, text)) { $0[keyPath: field] = $1.isOn }
    }

    /// An element that a set contains with the quirk.
    public static func element<Options: SetAlgebra & Sendable>(
        _ name: String, _ part: QuirkDeclaration.Part, _ field: Field<Options>, _ element: Options, violates: String? = nil, _ text: String
    ) -> Quirk where Options.Element == Options {
        Quirk(QuirkDeclaration(name, part, violates: violates, text)) {
            if $1.isOn { $0[keyPath: field].formUnion(element) } else { $0[keyPath: field].subtract(element) }
        }
    }

    /// An integer field.
    public static func number<Value: FixedWidthInteger & Sendable>(
        _ name: String, _ part: QuirkDeclaration.Part, _ range: ClosedRange<Int>, _ field: Field<Value>, standard: String? = nil,
        knownOf: String = "", allowedBy: String? = nil, violates: String? = nil, legalValues: ClosedRange<Int>? = nil, _ text: String
    ) -> Quirk {
        Quirk(
            QuirkDeclaration(
                name, part, .number(range), standard: standard, knownOf: knownOf, allowedBy: allowedBy, violates: violates,
                legalValues: legalValues, text)
        ) { $0[keyPath: field] = Value(clamping: $1.number) }
    }

    /// An integer field that is nil by default.
    public static func number<Value: FixedWidthInteger & Sendable>(
        _ name: String, _ part: QuirkDeclaration.Part, _ range: ClosedRange<Int>, _ field: Field<Value?>, allowedBy: String? = nil,
        violates: String? = nil, _ text: String
    ) -> Quirk {
        Quirk(QuirkDeclaration(name, part, .number(range), allowedBy: allowedBy, violates: violates, text)) {
            $0[keyPath: field] = Value(clamping: $1.number)
        }
    }
}

/// The quirks of one kind of configuration.
public struct Quirks<Target>: Sendable {
    public let all: [Quirk<Target>]
    private let byName: [String: Quirk<Target>]

    public init(_ all: [Quirk<Target>]) {
        self.all = all
        byName = Dictionary(all.map { ($0.name, $0) }) { first, _ in first }
    }

    public var declarations: [QuirkDeclaration] { all.map(\.declaration) }

    public subscript(name: String) -> Quirk<Target>? { byName[name] }

    /// Applies a quirk; returns false if there is none of this name.
    public func apply(_ name: String, _ value: QuirkValue, to target: inout Target) -> Bool {
        guard let quirk = byName[name] else { return false }
        quirk.apply(&target, value)
        return true
    }
}
