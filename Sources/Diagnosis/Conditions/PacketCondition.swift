import BBCapture
import BBCases
import BBPackets
import Yams

/// A condition on decoded packets, as `LE_Connection_Complete and Status != Success`.
///
/// Comparisons and braces have the conditions of cases. A part of it holds for a packet if one layer of the packet satisfies it; a layer
/// without the field does not.
public struct PacketCondition {
    /// A mistake in the text of a condition.
    public struct Malformed: Error, Sendable, CustomStringConvertible {
        public var description: String
        init(_ text: String) { description = text }
    }

    indirect enum Expression {
        case atom(Atom)
        case not(Expression)
        case every([Expression])
        case any([Expression])
    }

    private let expression: Expression

    public init(_ text: String) throws(Malformed) {
        var parser = try ConditionParser(text)
        expression = try parser.condition()
    }

    /// True if the packet satisfies the condition.
    public func holds(for packet: DecodedPacket) -> Bool { Self.holds(expression, packet) }

    /// False if the condition holds for no packet whose PDUs have these names.
    public func mayHold(for names: Set<String>) -> Bool { Self.mayHold(expression, names) }

    private static func mayHold(_ expression: Expression, _ names: Set<String>) -> Bool {
        switch expression {
        case .atom(let atom): atom.candidates.map { !$0.isDisjoint(with: names) } ?? true
        case .not: true
        case .every(let parts): parts.allSatisfy { mayHold($0, names) }
        case .any(let parts): parts.contains { mayHold($0, names) }
        }
    }

    /// A field of the condition that may contain an address, a name, a key or another long value.
    public var secretField: String? { Self.atoms(expression).lazy.compactMap(\.secretField).first }

    private static func atoms(_ expression: Expression) -> [Atom] {
        switch expression {
        case .atom(let atom): [atom]
        case .not(let inner): atoms(inner)
        case .every(let parts), .any(let parts): parts.flatMap(atoms)
        }
    }

    private static func holds(_ expression: Expression, _ packet: DecodedPacket) -> Bool {
        switch expression {
        case .atom(let atom): packet.layers.contains { atom.holds(for: $0) }
        case .not(let inner): !holds(inner, packet)
        case .every(let parts): parts.allSatisfy { holds($0, packet) }
        case .any(let parts): parts.contains { holds($0, packet) }
        }
    }
}

extension PacketCondition {
    /// A part of a condition on one layer. Conditions on fields depend on the PDU, which names the values; they are read once for each PDU.
    final class Atom {
        /// The names of PDUs, of which one is enough; nil for a condition on fields.
        private let names: Set<String>?
        private let node: Node?
        private let fields: [String]
        private var predicates: [String: [FieldPredicate]?] = [:]
        private let variables = Variables()

        /// The name of a PDU, or of a field that is present.
        init(named word: String) throws(Malformed) {
            let word = word.trimming("\"'")
            node = nil
            if let events = Vocabulary.packets.alternatives[word] {
                (names, fields) = (Set(events), [])
            } else if Vocabulary.packets.pdus[word] != nil {
                (names, fields) = ([word], [])
            } else if Self.known.contains(word) {
                (names, fields) = (nil, [word])
            } else {
                let near = Suggestion.text(for: word, among: Array(Vocabulary.packets.pdus.keys) + Self.known)
                throw .init("there is no PDU and no field '\(word)'" + near)
            }
        }

        /// Conditions on fields, as `{Status: {not: Success}}`.
        init(_ yaml: String) throws(Malformed) {
            var reader = SourceReader(file: "condition", vocabulary: .packets)
            let root = reader.compose(yaml)
            let names = root.flatMap { reader.keys($0, of: "a condition") }?.entries.map(\.name) ?? []
            if let problem = reader.problems.first { throw .init(problem.text) }
            (self.names, node, fields) = (nil, root, names)
            for field in names where !Self.known.contains(field) {
                throw .init("no PDU has a field '\(field)'" + Suggestion.text(for: field, among: Self.known))
            }
            try check()
        }

        /// - Throws: the first mistake, if the condition fits no PDU with these fields; the names of a number that has some, unless
        /// the field has no names in another PDU.
        private func check() throws(Malformed) {
            var mistake: Problem?
            var unnamed: [String] = []
            var (fits, isPlain) = (false, false)
            // Many PDUs have the same field, such as Status, and a mistake in it is looked up in all of its labels.
            var tried: Set<[Vocabulary.Field]> = []
            for pdu in Vocabulary.packets.pdus.values.sorted(by: { $0.name < $1.name }) {
                for known in [pdu.fields, pdu.returns ?? []] where fields.allSatisfy({ field in known.contains { $0.name == field } }) {
                    guard tried.insert(known.filter { fields.contains($0.name) }).inserted else { continue }
                    let (_, problems) = read(pdu.name, known)
                    if problems.isEmpty {
                        fits = true
                        isPlain = isPlain || known.allSatisfy { !fields.contains($0.name) || $0.labels.isEmpty }
                    }
                    mistake = mistake ?? problems.first
                    for problem in problems where problem.isUnnamedNumber && !unnamed.contains(problem.text) {
                        unnamed.append(problem.text)
                    }
                }
            }
            if !unnamed.isEmpty, !isPlain { throw .init(unnamed.prefix(3).joined(separator: "; ")) }
            if fits { return }
            throw .init(mistake?.text ?? "no PDU has all of the fields \(fields.joined(separator: ", "))")
        }

        private func read(_ name: String, _ known: [Vocabulary.Field]) -> ([FieldPredicate], [Problem]) {
            var reader = SourceReader(file: "condition", vocabulary: .packets)
            let predicates = reader.fieldPredicates(node, of: name, fields: known)
            return (predicates, reader.problems)
        }

        func holds(for layer: DecodedLayer) -> Bool {
            guard layer.declaration != nil else { return false }
            if let names { return names.contains(layer.name) }
            guard node != nil else { return fields.allSatisfy { layer.fields.named($0) ?? layer.returns.named($0) != nil } }
            guard let predicates = predicates(for: layer) else { return false }
            var record = layer.caseRecord
            for field in layer.returns where record[field.name] == nil {
                record[field.name] = field.int.map { .number($0) } ?? field.octets.map { .octets($0) }
            }
            record[DiagnosisEvent.octets.name] = .number(layer.fieldOctets)
            do { return try Predicate.parts(predicates).mismatch(.record(record), variables) == nil } catch { return false }
        }

        /// Names of the PDUs for which it may hold; nil if it may hold for packets of any.
        private(set) lazy var candidates: Set<String>? = {
            if let names { return names }
            // Headers of data have handles, too.
            guard !fields.contains(Self.handle.name) else { return nil }
            let pdus = Vocabulary.packets.pdus.values
            func hasAll(_ known: [Vocabulary.Field]) -> Bool { fields.allSatisfy { field in known.contains { $0.name == field } } }
            let names = Set(pdus.filter { hasAll($0.fields) }.map(\.name))
            let answer = Vocabulary.packets.pdus[Self.answer]?.fields ?? []
            return pdus.contains { $0.returns.map { hasAll(answer + $0) } ?? false } ? names.union([Self.answer]) : names
        }()

        private func predicates(for layer: DecodedLayer) -> [FieldPredicate]? {
            let command = layer.returns.isEmpty ? nil : layer.command?.name
            let key = command.map { layer.name + " " + $0 } ?? layer.name
            if let known = predicates[key] { return known }
            var known = Vocabulary.packets.pdus[layer.name]?.fields ?? []
            // Cases know no headers of data packets, whose connection handle is written as in commands.
            if layer.layer == .hciData { known = fields.compactMap { $0 == Self.handle.name ? Self.handle : nil } }
            if let command { known += Vocabulary.packets.pdus[command]?.returns ?? [] }
            let (list, problems) = read(layer.name, known)
            let result = problems.isEmpty ? list : nil
            predicates[key] = .some(result)
            return result
        }

        /// A compared field that may be long in some PDU.
        var secretField: String? { node == nil ? nil : fields.first(where: Self.secrets.contains) }

        private static let secrets = Set(
            Vocabulary.packets.pdus.values.flatMap { pdu in
                (pdu.fields + (pdu.returns ?? [])).filter(isSecret).map(\.name)
            })

        private static func isSecret(_ field: Vocabulary.Field) -> Bool {
            if ["Passkey", "Numeric_Value"].contains(field.name) { return true }
            return switch field.kind {
            case .number(let range): range.upperBound > 0xFFFF_FFFF && field.labels.isEmpty
            case .uuid: false
            case .octets, .address, .list, .rows, .record, .any: true
            }
        }

        /// The event with the return parameters of commands.
        private static let answer = HCIEvents.CommandComplete.name

        private static let handle = Vocabulary.Field("Connection_Handle", .number(0...0x0FFF))

        /// The names of all fields.
        private static let known = Set(
            Vocabulary.packets.pdus.values.flatMap { pdu in pdu.fields.map(\.name) + (pdu.returns ?? []).map(\.name) })
    }
}

extension String {
    fileprivate func trimming(_ characters: String) -> String {
        var text = self[...]
        while let first = text.first, characters.contains(first) { text.removeFirst() }
        while let last = text.last, characters.contains(last) { text.removeLast() }
        return String(text)
    }
}
