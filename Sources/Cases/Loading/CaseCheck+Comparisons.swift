/// Conditions and references that a value never satisfies. Under `none` and `not` such a step always passes, so the mistake would not show.
extension CaseCheck {
    /// Reports saved values that a field of a PDU never equals, such as a whole result for a handle.
    mutating func checkReferences(_ predicates: [FieldPredicate], _ fields: [Vocabulary.Field], _ state: State) {
        for predicate in predicates {
            guard let field = fields.first(where: { $0.name == predicate.name }) else { continue }
            checkReferences(predicate.predicate, ValueShape(field), field.name, state)
        }
    }

    mutating func checkReferences(_ predicate: Predicate, _ shape: ValueShape, _ name: String, _ state: State) {
        switch (predicate, shape) {
        case (.equals(.reference(let reference)), _):
            let other = self.shape(of: reference, state)
            guard !shape.canEqual(other) else { return }
            report(reference.position, "\(reference) is \(other.words), which \(name), \(shape.words), never equals")
        case (.not(let inner), _), (.masked(_, let inner), _): checkReferences(inner, shape, name, state)
        case (.anyOf(let all), _), (.allOf(let all), _): for inner in all { checkReferences(inner, shape, name, state) }
        case (.anyElement(let inner), .list(let element)), (.everyElement(let inner), .list(let element)):
            checkReferences(inner, element, name, state)
        case (.parts(let parts), .record(let shapes)):
            for part in parts { if let shape = shapes[part.name] { checkReferences(part.predicate, shape, part.name, state) } }
        default: break
        }
    }

    /// The shape of a saved value; mistakes in the reference are reported elsewhere.
    private func shape(of reference: Reference, _ state: State) -> ValueShape {
        reference.path.reduce(state.given[reference.name] ?? .any) { shape, part in
            if case .success(let inner) = shape.part(part, of: reference) { inner } else { .any }
        }
    }

    /// Reports conditions that say nothing about a saved value. The reader reports parts that it does not have.
    mutating func checkConditions(_ predicate: Predicate, about shape: ValueShape, _ name: String, at position: Position) {
        switch (predicate, shape) {
        case (.not(let inner), _): checkConditions(inner, about: shape, name, at: position)
        case (.anyOf(let all), _), (.allOf(let all), _): for inner in all { checkConditions(inner, about: shape, name, at: position) }
        case (.anyElement(let inner), .list(let element)), (.everyElement(let inner), .list(let element)):
            checkConditions(inner, about: element, name, at: position)
        case (.parts(let parts), .record(let shapes)):
            for part in parts {
                guard let shape = shapes[part.name] else { continue }
                checkConditions(part.predicate, about: shape, name + "." + part.name, at: part.position)
            }
        default:
            guard let word = predicate.condition, shape.isForeign(to: predicate) else { return }
            report(position, "\(name) is \(shape.words): '\(word)' says nothing about it")
        }
    }
}

extension ValueShape {
    /// False for values that differ in any notation.
    fileprivate func canEqual(_ other: ValueShape) -> Bool {
        switch (self, other) {
        case (.any, _), (_, .any), (.record, .record): true
        case (.record, _), (_, .record), (.number, .list), (.list, .number): false
        default: true
        }
    }

    /// True if no value of this shape satisfies the condition.
    fileprivate func isForeign(to predicate: Predicate) -> Bool {
        switch (predicate, self) {
        case (.length, .number), (.starts, .number), (.ends, .number), (.contains, .number), (.integer, .number), (.anyElement, .number),
            (.everyElement, .number), (.range, .octets), (.anyElement, .octets), (.everyElement, .octets), (.range, .list),
            (.masked, .list),
            (.bits, .list):
            true
        case (.length, .record), (.starts, .record), (.ends, .record), (.contains, .record), (.integer, .record), (.anyElement, .record),
            (.everyElement, .record), (.range, .record), (.masked, .record), (.bits, .record):
            true
        default: false
        }
    }
}

extension Predicate {
    /// The condition in a case file; nil for those about any value.
    fileprivate var condition: String? {
        switch self {
        case .range(_, nil): "atLeast"
        case .range(nil, _): "atMost"
        case .range: "range"
        case .masked: "mask"
        case .bits: "bitsOf"
        case .integer(_, let octets, let isSigned, _): Self.name(octets, isSigned)
        case .length: "length"
        case .starts: "startsWith"
        case .ends: "endsWith"
        case .contains: "contains"
        case .anyElement: "some"
        case .everyElement: "each"
        case .any, .equals, .not, .anyOf, .allOf, .parts: nil
        }
    }
}
