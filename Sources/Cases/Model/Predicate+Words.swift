extension Predicate {
    /// Describes the predicate, with references replaced by their values if possible.
    ///
    /// - Parameter names: the declaration of the value.
    package func text(_ variables: Variables, _ names: ValueNames = .none) -> String {
        switch self {
        case .any: "any value"
        case .equals(let operand): Self.text(operand, variables, names)
        case .not(let inner): "not " + inner.text(variables, names)
        case .anyOf(let choices): Self.alternatives(choices.map { $0.text(variables, names) })
        case .allOf(let all): all.map { $0.text(variables, names) }.joined(separator: " and ")
        case .range(let low?, let high?): "\(Self.text(low, variables, names)) to \(Self.text(high, variables, names))"
        case .range(let low?, nil): "at least \(Self.text(low, variables, names))"
        case .range(nil, let high?): "at most \(Self.text(high, variables, names))"
        case .range(nil, nil): "a number"
        case .masked(let mask, let inner):
            "bits 0x\(String(mask, radix: 16, uppercase: true)) that are \(inner.text(variables))"
        case .bits(let operand): "no other bits than \(Self.text(operand, variables, names))"
        case .integer(let at, let octets, let isSigned, let inner):
            "\(Self.name(octets, isSigned))\(at > 0 ? " at \(at)" : "") of \(inner.text(variables))"
        case .length(.equals(.literal(.number(0)))): "nothing"
        case .length(let inner): "a length of \(inner.text(variables))"
        case .starts(let operand): "a start of \(Self.text(operand, variables))"
        case .ends(let operand): "an end of \(Self.text(operand, variables))"
        case .contains(let operand): "\(Self.text(operand, variables)) in it"
        case .anyElement(let inner): "an element that is \(inner.text(variables, names))"
        case .everyElement(let inner): "each \(inner.text(variables, names))"
        case .parts(let parts):
            "{" + parts.map { "\($0.name): \($0.predicate.text(variables, names.part($0.name)))" }.joined(separator: ", ") + "}"
        }
    }

    private static func alternatives(_ texts: [String]) -> String {
        texts.count < 3 ? texts.joined(separator: " or ") : texts.dropLast().joined(separator: ", ") + " or " + (texts.last ?? "")
    }

    private static func text(_ operand: Operand, _ variables: Variables, _ names: ValueNames = .none) -> String {
        if let value = try? variables.resolve(operand) { return names.text(value) }
        if case .reference(let reference) = operand { return reference.description }
        return "?"
    }
}
