import BBPackets
import Yams

extension SourceReader {
    /// Reads a time, a number of connection or advertising events, or a reference to one: `20 ms`, `10 connection events`, `$gap`,
    /// `$count connection events`.
    mutating func length(_ node: Node?, _ what: String) -> Window.Length? {
        guard let node, let text = text(node, what) else { return nil }
        if let time = Self.duration(text) {
            if time > Limits.longest { report(node, "\(what): \(text) is longer than a case can last, \(Limits.longest.text)") }
            return .time(time)
        }
        let words = text.split(separator: " ")
        let unit = Self.unit(words.dropFirst())
        if let first = words.first, first.hasPrefix("$"), let unit { return savedLength(String(first), unit, node, what) }
        if let first = words.first, let count = Int(first), (1...100_000).contains(count), let unit, unit != .microseconds {
            return unit.length(count)
        }
        report(node, "\(what): '\(text)' is not a span; write 20 ms, 10 connection events, 3 advertising events or $name")
        return nil
    }

    private static func unit(_ words: ArraySlice<Substring>) -> Window.Unit? {
        guard let last = words.last else { return .microseconds }
        let plural = last.hasSuffix("s") ? "" : "s"
        return Window.Unit(rawValue: words.joined(separator: " ") + plural)
    }

    private mutating func savedLength(_ name: String, _ unit: Window.Unit, _ node: Node, _ what: String) -> Window.Length? {
        switch reference(name, node, unit == .microseconds ? nil : Vocabulary.Field(what, .number(0...100_000))) {
        case .reference(let reference): return .saved(reference, unit)
        case .literal(.number(let count)) where count >= 0: return unit.length(count)
        case .literal(.text(let text)) where unit == .microseconds && Self.duration(text) != nil:
            return Self.duration(text).map { .time($0) }
        default:
            report(node, "\(what): \(name) is not a span")
            return nil
        }
    }

    /// Reads a number, or a time in microseconds where times are allowed.
    mutating func numberOrTime(_ node: Node?, _ what: String) -> Int? {
        if readsTimes, case .scalar(let scalar)? = node, let time = Self.duration(scalar.string) { return Int(time.rawValue) }
        return integer(node, what)
    }

    /// Reads the rounds of a case: a list of rounds, or the values of each parameter, of which each combination is a round.
    mutating func rounds(_ node: Node?, _ parameters: [Parameter]) -> [CaseRecord] {
        readsTimes = true
        defer { readsTimes = false }
        if case .mapping? = node { return sweep(node, parameters) }
        guard let node else { return [] }
        var rounds: [CaseRecord] = []
        for row in sequence(node, "rounds").prefix(Self.mostRounds) {
            guard let keys = keys(row, of: "a round") else { continue }
            if keys.entries.isEmpty { report(row, "a round gives values to parameters") }
            if parameters.isEmpty { report(row, "the case has no parameters that a round could give values to") }
            var record = CaseRecord()
            for entry in entries(keys, of: "the case", fields: parameters.map(\.asField)) {
                record[entry.name] = value(entry.value, of: parameters.first { $0.name == entry.name }, at: entry.position)
            }
            if rounds.contains(record) { report(row, "the same round twice") }
            rounds.append(record)
        }
        return rounds
    }

    static let mostRounds = 1_000

    private mutating func sweep(_ node: Node?, _ parameters: [Parameter]) -> [CaseRecord] {
        guard let node, let keys = keys(node, of: "rounds") else { return [] }
        var rounds = [CaseRecord()]
        for entry in keys.entries {
            guard let parameter = parameters.first(where: { $0.name == entry.name }) else {
                report(
                    entry.position,
                    "the case has no parameter '\(entry.name)'" + Suggestion.text(for: entry.name, among: parameters.map(\.name)))
                continue
            }
            let values = values(entry.node, of: parameter)
            guard rounds.count * values.count <= Self.mostRounds else {
                report(entry.position, "\(rounds.count * values.count) rounds are more than \(Self.mostRounds)")
                return []
            }
            rounds = rounds.flatMap { round in
                values.map { value in
                    var round = round
                    round[entry.name] = value
                    return round
                }
            }
        }
        return keys.entries.isEmpty ? [] : rounds
    }

    /// Reads the values of a parameter: a list, or a range with a step.
    private mutating func values(_ node: Node, of parameter: Parameter) -> [CaseValue] {
        guard case .mapping = node else {
            return sequence(node, parameter.name).map { value(operand($0, field: parameter.asField), of: parameter, at: position($0)) }
        }
        guard var keys = keys(node, of: parameter.name) else { return [] }
        let (from, to) = (numberOrTime(keys.take("from"), "from"), numberOrTime(keys.take("to"), "to"))
        let step = numberOrTime(keys.take("step"), "step") ?? 1
        finish(keys, of: "a range of values", allowed: ["from", "to", "step"])
        guard let from, let to, from <= to, step > 0, (to - from) / step < Self.mostRounds else {
            report(
                node,
                "a range of values goes from a number to a greater one in at most \(Self.mostRounds) steps: {from: 0, to: 40, step: 5}")
            return []
        }
        return stride(from: from, through: to, by: step).map { value(.literal(.number($0)), of: parameter, at: position(node)) }
    }

    private mutating func value(_ operand: Operand, of parameter: Parameter?, at position: Position) -> CaseValue {
        let value = literal(operand)
        if case .number(let number) = value, let range = parameter?.range, !range.contains(number) {
            report(position, "\(number) is outside the parameter's range of \(range.lowerBound) to \(range.upperBound)")
        }
        return value
    }
}
