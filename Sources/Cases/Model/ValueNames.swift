import BBPackets

/// The declaration of a value, for messages with the names and units of its field.
package struct ValueNames: Sendable {
    var field: FieldDeclaration?
    /// The declarations of its parts.
    var parts: [FieldDeclaration] = []

    package static let none = ValueNames()

    package init() {}

    package init(_ field: FieldDeclaration) {
        self.field = field
        parts = field.inner
    }

    package init(parts: [FieldDeclaration]) { self.parts = parts }

    /// The fields of a PDU, and for a command its return parameters; or the results of an action.
    package init(pdu name: String) {
        if let results = Self.results[name] {
            parts = results
            return
        }
        guard let declaration = Self.declarations[AlternativeEvents.all.first { $0.key == name }?.value.first ?? name] else { return }
        parts = declaration.fields + (declaration.returns ?? [])
    }

    private static let declarations = Dictionary(PDUCatalog.all.map { ($0.name, $0) }) { first, _ in first }

    private static let results = ["listen to device": ["types", "allTypes"].map { FieldDeclaration.advertisingType(named: $0) }]

    package func part(_ name: String) -> ValueNames {
        parts.flat.first { $0.name == name }.map { ValueNames($0) } ?? .none
    }

    /// The declaration at a path; numbers in it are list indices.
    package func at(_ path: some Sequence<Substring>) -> ValueNames {
        path.filter { Int($0) == nil }.reduce(self) { $0.part(String($1)) }
    }

    package func text(_ value: CaseValue) -> String {
        switch value {
        case .number(let number):
            switch field?.shape {
            case .integer?, .bit?, .array?: field?.text(.integer(Int128(number))) ?? value.description
            default: value.description
            }
        case .list(let list): "[" + list.map { text($0) }.joined(separator: ", ") + "]"
        case .record(let record): record.text { "\($0): \(part($0).text($1))" }
        case .text(let text): text.isEmpty ? "nothing" : text
        case .octets: value.description
        }
    }
}

/// The PDU or action from which a value was saved, and its field.
package struct ValueSource {
    package var pdu: String
    package var path: [String] = []

    package init(pdu: String, path: [String] = []) { (self.pdu, self.path) = (pdu, path) }

    package var names: ValueNames { ValueNames(pdu: pdu).at(path.map { Substring($0) }) }

    package func inside(_ parts: ArraySlice<String>) -> ValueSource { ValueSource(pdu: pdu, path: path + parts) }
}

extension Step.Kind {
    /// The PDU or the action whose fields the step saves.
    package var pdu: String? {
        switch self {
        case .send(let command): command.name
        case .expect(let expectation), .expectNone(let expectation), .until(let expectation, _, _): expectation.name
        case .air(let air): air.name
        case .action(let action): action.name
        default: nil
        }
    }
}

extension [FieldPredicate] {
    /// The conditions of a step on the fields of a PDU, in words.
    package func words(of pdu: String) -> [String] {
        let names = ValueNames(pdu: pdu)
        return map { "\($0.name) \($0.predicate.text(Variables(), names.part($0.name)))" }
    }
}
