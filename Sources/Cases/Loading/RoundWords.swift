import Yams

/// A case file as some of its rounds read it: `$side` and `$own` are replaced by the words of the round
/// `rounds: {side: {central: {own: subject}, peripheral: {own: tester}}}`.
struct RoundReading {
    /// The part of the id that names the words: `side=central`; empty in a case without words.
    var name = ""
    var root: Node
}

extension SourceReader {
    /// The values of a name in `rounds:` that is no parameter, with the words that each of them brings.
    private struct Choice {
        struct Value {
            var name: String
            var node: Node
            var words: [(name: String, position: Position, node: Node)]
        }

        var name: String
        var position: Position
        var values: [Value] = []
    }

    /// Returns the file for each combination of the words of its rounds; the words are replaced, and `rounds:` keeps the parameters.
    mutating func readings(of root: Node) -> [RoundReading] {
        guard case .mapping(let document) = root, let rounds = document["rounds"], case .mapping = rounds,
            let keys = keys(rounds, of: "rounds")
        else { return [RoundReading(root: root)] }
        let parameters = Set(document["parameters"]?.mapping?.keys.compactMap(\.string) ?? [])
        let choices = keys.entries.filter { !parameters.contains($0.name) }.compactMap { choice($0.name, $0.node, $0.position) }
        guard !choices.isEmpty else { return [RoundReading(root: root)] }
        checkNames(of: choices, besides: parameters.union(root.savedNames))
        var rows: [[Choice.Value]] = [[]]
        for choice in choices {
            guard rows.count * choice.values.count <= Self.mostRounds else {
                report(choice.position, "\(rows.count * choice.values.count) rounds are more than \(Self.mostRounds)")
                return []
            }
            rows = rows.flatMap { row in choice.values.map { row + [$0] } }
        }
        let plain = document.without(choices.map(\.name), in: "rounds")
        var used: Set<String> = []
        var readings: [RoundReading] = []
        var budget = SourceLimits.roundNodes
        for row in rows {
            guard let words = substitution(of: row, choices) else { return [] }
            var round = words
            let node = round.apply(to: plain)
            used.formUnion(round.used)
            guard isReasonable(node) else { return [] }
            guard SourceLimits.spend(&budget, on: node) else {
                report(rounds, "with their words written out the rounds have more than \(SourceLimits.roundNodes) values")
                return []
            }
            readings.append(RoundReading(name: name(of: row, choices), root: node))
        }
        reportUnused(choices, used, parameters)
        return readings
    }

    /// Returns the words of a round; nil if they are too long, since each may repeat those before it.
    private mutating func substitution(of row: [Choice.Value], _ choices: [Choice]) -> WordSubstitution? {
        var words = WordSubstitution()
        for (choice, value) in zip(choices, row) {
            for (name, node) in [(choice.name, value.node)] + value.words.map({ ($0.name, $0.node) }) {
                guard isReasonable(words.add(node, as: name)) else { return nil }
            }
        }
        return words
    }

    /// Reports words with the name of a value that the case has otherwise.
    private mutating func checkNames(of choices: [Choice], besides others: Set<String>) {
        for choice in choices {
            let names = [(choice.name, choice.position)] + choice.values.flatMap { $0.words.map { ($0.name, $0.position) } }
            for (name, position) in names where others.contains(name) {
                report(position, "the name '\(name)' stands for something already")
            }
        }
    }

    private func name(of row: [Choice.Value], _ choices: [Choice]) -> String {
        zip(choices, row).map { "\($0.name)=\($1.name)" }.joined(separator: ",")
    }

    private mutating func isReasonable(_ node: Node) -> Bool {
        if SourceLimits.isReasonable(node) { return true }
        report(node, "with its words written out a round has more than \(SourceLimits.nodes) values, or texts that are too long")
        return false
    }

    /// Reads the values of a name in `rounds:`: a list of words, or sets of words by value. A range belongs to a parameter.
    private mutating func choice(_ name: String, _ node: Node, _ position: Position) -> Choice? {
        checkName(name, at: position)
        var choice = Choice(name: name, position: position)
        guard case .mapping = node else {
            for value in sequence(node, name) {
                guard let text = text(value, "a word of '\(name)'") else { continue }
                choice.values.append(Choice.Value(name: text, node: value, words: []))
            }
            return checked(choice)
        }
        guard let keys = keys(node, of: name), !(keys.has("from") && keys.has("to")) else { return nil }
        if keys.entries.isEmpty { report(position, "'\(name)' has no values") }
        for (key, value) in node.mapping ?? [:] {
            guard let text = key.string, let words = self.keys(value, of: "the words of '\(text)'") else { continue }
            for word in words.entries { checkName(word.name, at: word.position) }
            choice.values.append(Choice.Value(name: text, node: key, words: words.entries))
        }
        return checked(choice)
    }

    /// Checks that all values bring the same words, and that their names can stand in an id.
    private mutating func checked(_ choice: Choice) -> Choice {
        let all = Set(choice.values.flatMap { $0.words.map(\.name) })
        for (index, value) in choice.values.enumerated() {
            if value.name.isEmpty || value.name.contains(where: { ",=[]*$".contains($0) || $0.isWhitespace }) {
                report(value.node, "'\(value.name)' cannot stand in the id of a round: letters, digits, hyphens")
            }
            if choice.values[..<index].contains(where: { $0.name == value.name }) { report(value.node, "the same round twice") }
            for word in all.subtracting(value.words.map(\.name)).sorted() {
                report(value.node, "'\(value.name)' does not say '\(word)', which another value of '\(choice.name)' says")
            }
        }
        return choice
    }

    private mutating func reportUnused(_ choices: [Choice], _ used: Set<String>, _ parameters: Set<String>) {
        for choice in choices {
            let words = choice.values.first?.words ?? []
            if words.isEmpty, !used.contains(choice.name) {
                report(
                    choice.position,
                    "the case has no parameter '\(choice.name)', and nothing says $\(choice.name)"
                        + Suggestion.text(for: choice.name, among: parameters))
            }
            for word in words where !used.contains(word.name) { warn(word.position, "the word '\(word.name)' is never used") }
        }
    }
}

/// The replacement of words in the nodes of a file. A word may use the words before it.
private struct WordSubstitution {
    private var words: [String: Node] = [:]
    private(set) var used: Set<String> = []

    /// Adds a word, and returns it with the words before it written out.
    mutating func add(_ node: Node, as name: String) -> Node {
        let node = apply(to: node)
        words[name] = node
        return node
    }

    mutating func apply(to node: Node) -> Node {
        switch node {
        case .scalar(let scalar):
            if let name = word(in: scalar), let word = words[name] { return word }
            return .scalar(replaced(scalar))
        case .sequence(let sequence): return .sequence(replaced(sequence))
        case .mapping(let mapping):
            let pairs = mapping.map { (apply(to: $0.key), apply(to: $0.value)) }
            return .mapping(Node.Mapping(pairs, mapping.tag, mapping.style, mapping.mark))
        case .alias: return node
        }
    }

    /// Returns the word that the whole text stands for.
    private mutating func word(in scalar: Node.Scalar) -> String? {
        guard scalar.string.hasPrefix("$") else { return nil }
        let name = String(scalar.string.dropFirst())
        guard words[name] != nil else { return nil }
        used.insert(name)
        return name
    }

    /// Replaces elements; a word that is a list brings its elements.
    private mutating func replaced(_ sequence: Node.Sequence) -> Node.Sequence {
        var nodes: [Node] = []
        for node in sequence {
            if case .scalar(let scalar) = node, let name = word(in: scalar), case .sequence(let list)? = words[name] {
                nodes += list
            } else {
                nodes.append(apply(to: node))
            }
        }
        return Node.Sequence(nodes, sequence.tag, sequence.style, sequence.mark)
    }

    /// Replaces words inside a text: `$link.$own`, `A $side and its peer`. At its start, `$own.address` is the address of that end.
    private mutating func replaced(_ scalar: Node.Scalar) -> Node.Scalar {
        guard scalar.string.utf8.contains(UInt8(ascii: "$")) else { return scalar }
        var text = ""
        var rest = scalar.string[...]
        while let start = rest.firstIndex(of: "$") {
            let name = rest[rest.index(after: start)...].prefix { $0.isLetter || $0.isNumber || $0 == "_" }
            text += rest[..<start]
            rest = rest[name.endIndex...]
            guard case .scalar(let word)? = words[String(name)] else {
                text += "$" + name
                continue
            }
            used.insert(String(name))
            let isPath = text.isEmpty && rest.hasPrefix(".") && rest.dropFirst().first?.isLetter == true
            text += (isPath ? "$" : "") + word.string
        }
        var scalar = scalar
        scalar.string = text + rest
        return scalar
    }
}

extension Node {
    /// The names under which steps save values.
    fileprivate var savedNames: Set<String> {
        switch self {
        case .scalar, .alias: []
        case .sequence(let sequence): sequence.reduce(into: []) { $0.formUnion($1.savedNames) }
        case .mapping(let mapping):
            mapping.reduce(into: []) { names, pair in
                if ["saveAs", "counter", "called"].contains(pair.key.string), let name = pair.value.string { names.insert(name) }
                names.formUnion(pair.value.savedNames)
            }
        }
    }
}

extension Node.Mapping {
    /// Returns the document without some keys of one of its mappings.
    fileprivate func without(_ names: [String], in part: String) -> Node {
        let pairs = compactMap { key, value -> (Node, Node)? in
            guard key.string == part, case .mapping(let inner) = value else { return (key, value) }
            let rest = inner.filter { !names.contains($0.key.string ?? "") }.map { ($0.key, $0.value) }
            return rest.isEmpty ? nil : (key, .mapping(Node.Mapping(rest, inner.tag, inner.style, inner.mark)))
        }
        return .mapping(Node.Mapping(pairs, tag, style, mark))
    }
}
