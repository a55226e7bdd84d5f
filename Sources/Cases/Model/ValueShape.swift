/// The type of a saved value, as far as it is known before the case runs.
package indirect enum ValueShape: Sendable, Hashable {
    case number(ClosedRange<Int>)
    case octets
    case address
    case uuid
    case list(ValueShape)
    case record([String: ValueShape])
    /// A number, octets, a text or a list of these.
    case plain
    case any

    init(_ field: Vocabulary.Field) {
        switch field.kind {
        case .number(let span): self = .number(span)
        case .octets: self = .octets
        case .address: self = .address
        case .uuid: self = .uuid
        case .list: self = .list(field.element.first.map { ValueShape($0) } ?? .any)
        case .rows: self = .list(.fields(field.columns))
        case .record: self = .fields(field.columns)
        case .any: self = field.isPlain ? .plain : .any
        }
    }

    init(_ parameter: Parameter) {
        switch (parameter.range, parameter.field, parameter.initial) {
        case (let range?, _, _): self = .number(range)
        case (nil, let field?, _): self = ValueShape(field)
        default: self = .any
        }
    }

    static func fields(_ fields: [Vocabulary.Field]) -> ValueShape {
        .record(Dictionary(fields.map { ($0.name, ValueShape($0)) }) { first, _ in first })
    }

    /// The shape of `tester` and `subject`.
    static let side = ValueShape.record(["address": .address, "type": .number(0...1)])

    /// Returns the shape of a value that has one of two shapes.
    func joined(with other: ValueShape) -> ValueShape {
        if self == other { return self }
        guard case (.record(let parts), .record(let others)) = (self, other) else { return .any }
        return .record(parts.merging(others) { $0.joined(with: $1) })
    }

    /// Returns the shape of a part, or the reason why it does not exist.
    func part(_ name: String, of reference: Reference) -> Result<ValueShape, Problem> {
        switch self {
        case .any, .plain: return .success(self)
        case .record(let parts):
            if let part = parts[name] { return .success(part) }
            return .failure(
                Problem(reference.position, "\(reference): there is no '\(name)'" + Suggestion.text(for: name, among: parts.keys)))
        case .list(let element):
            if let index = Int(name), index >= 0 { return .success(element) }
            return .failure(Problem(reference.position, "\(reference): an element of a list is named by its number, not '\(name)'"))
        case .number, .octets, .address, .uuid:
            return .failure(Problem(reference.position, "\(reference): the value before '\(name)' has no parts"))
        }
    }

    /// Returns the shape of the elements of a list.
    static func element(of list: Operand, _ given: [String: ValueShape]) -> ValueShape {
        guard case .reference(let reference) = list, var shape = given[reference.name] else { return .any }
        for part in reference.path {
            guard case .success(let inner) = shape.part(part, of: reference) else { return .any }
            shape = inner
        }
        if case .list(let element) = shape { return element }
        return .any
    }

    /// Returns true if a value of this shape is suitable for a field of the kind.
    func suits(_ kind: Vocabulary.Field.Kind) -> Bool {
        switch (self, kind) {
        case (.any, _), (.plain, _), (_, .any), (.number, .number), (.octets, .octets), (.list, .octets), (.address, .address),
            (.number, .address):
            true
        case (.uuid, .uuid), (.uuid, .octets), (.octets, .uuid), (.number, .uuid), (.list, .list), (.list, .rows), (.record, .record): true
        default: false
        }
    }

    /// The largest possible number; nil if the value is not a number.
    var most: Int? { if case .number(let span) = self { span.upperBound } else { nil } }
    var least: Int? { if case .number(let span) = self { span.lowerBound } else { nil } }

    package var words: String {
        switch self {
        case .number: "a number"
        case .octets: "octets"
        case .address: "an address"
        case .uuid: "a UUID"
        case .list: "a list"
        case .record: "a set of values"
        case .plain: "a single value"
        case .any: "anything"
        }
    }
}
