import BBPackets
import Yams

/// Reads YAML nodes and collects mistakes with their positions.
package struct SourceReader {
    let file: String
    package let vocabulary: Vocabulary
    package var problems: [Problem] = []
    /// The parameters of procedures by name; nil if they are unknown.
    var signatures: [String: [Parameter]]?
    /// The names of all existing procedures.
    var procedureNames: Set<String> = []
    /// The constants of the file or of all files, by name.
    var constants: [String: Node] = [:]
    var usedConstants: Set<String> = []
    /// The declared fields of this file's parameters.
    var parameterFields: [String: Vocabulary.Field] = [:]
    /// The fields of the values saved by the steps that have been read.
    var savedFields = SavedFields()
    /// The roles of a procedure, or none.
    var roles: [String] = []
    var isAccessoryCase = false
    /// True in a case whose subject is a host: only its upper tester acts for it.
    var isHostCase = false
    /// True if the devices of the file are reached over USB, so that quirks about USB requests have an effect.
    var reachesUSB = false
    /// True if `$device` or one of its features was read.
    package var mentionsDevice = false
    /// True if the name of the accessory of docs/guide/accessory.md was read.
    package var mentionsReference = false
    /// True if numbers may be written as times, in microseconds.
    var readsTimes = false
    var valueDepth = 0
    /// The steps that could not be read; what they save and use is not known otherwise.
    private(set) var lost: [Node] = []

    package init(file: String, vocabulary: Vocabulary) {
        self.file = file
        self.vocabulary = vocabulary
    }

    /// The keys of a mapping; each is taken once, and remaining keys are reported.
    package struct Keys {
        var position: Position
        package var entries: [(name: String, position: Position, node: Node)]

        package mutating func take(_ name: String) -> Node? {
            entries.firstIndex { $0.name == name }.map { entries.remove(at: $0).node }
        }

        func has(_ name: String) -> Bool { entries.contains { $0.name == name } }
    }

    package func position(_ node: Node) -> Position {
        let mark: Mark? =
            switch node {
            case .scalar(let scalar): scalar.mark
            case .mapping(let mapping): mapping.mark
            case .sequence(let sequence): sequence.mark
            case .alias(let alias): alias.mark
            }
        return Position(file: file, line: mark?.line ?? 1, column: mark?.column ?? 1)
    }

    /// Notes whether the devices of a file are reached over USB: a case that needs it, and a mutant or variant for such cases alone.
    mutating func noteUSB(_ keys: Keys) {
        let (suite, feature) = ("usb-transport", ".USB")
        reachesUSB = keys.entries.contains { entry in
            switch entry.name {
            case "killers", "only": entry.node.array().allSatisfy { $0.string?.hasPrefix(suite) == true }
            case "needs": entry.node.string?.contains(feature) == true
            default: false
            }
        }
    }

    package mutating func report(_ position: Position, _ text: String) {
        guard problems.count < 200 else { return }
        problems.append(Problem(position, text))
    }

    package mutating func report(_ node: Node, _ text: String) { report(position(node), text) }

    /// Reports something that has no effect but does not prevent a run.
    mutating func warn(_ position: Position, _ text: String) {
        guard problems.count < 200 else { return }
        problems.append(Problem(position, text, isWarning: true))
    }

    mutating func lose(_ step: Node) { lost.append(step) }

    package mutating func keys(_ node: Node, of what: String) -> Keys? {
        guard case .mapping(let mapping) = node else {
            report(node, "\(what) must be a set of `name: value` lines")
            return nil
        }
        var entries: [(name: String, position: Position, node: Node)] = []
        for (key, value) in mapping {
            guard case .scalar(let scalar) = key else {
                report(key, "a name is expected here")
                continue
            }
            entries.append((scalar.string, position(key), value))
        }
        return Keys(position: position(node), entries: entries)
    }

    /// Reports the remaining keys.
    package mutating func finish(_ keys: Keys, of what: String, allowed: [String]) {
        for entry in keys.entries {
            report(entry.position, "\(what) has no '\(entry.name)'" + Suggestion.text(for: entry.name, among: allowed))
        }
    }

    package mutating func text(_ node: Node?, _ what: String) -> String? {
        guard let node else { return nil }
        guard case .scalar(let scalar) = node else {
            report(node, "\(what) must be a line of text")
            return nil
        }
        if scalar.string.allSatisfy(\.isWhitespace) { report(node, "\(what) is empty") }
        return scalar.string
    }

    package mutating func truth(_ node: Node?, _ what: String) -> Bool {
        guard let node, let text = text(node, what) else { return false }
        if text != "true", text != "false" { report(node, "\(what) is true or false, not '\(text)'") }
        return text == "true"
    }

    /// Reads an integer within the limits; returns the nearest legal value after reporting a problem.
    package mutating func integer(_ node: Node?, _ what: String, in limits: ClosedRange<Int> = .min ... .max) -> Int? {
        guard let node else { return nil }
        guard case .scalar(let scalar) = node, let number = Self.integer(scalar.string) else {
            report(node, "\(what) must be a whole number")
            return nil
        }
        guard limits.contains(number) else {
            report(node, "\(what) is a number from \(limits.lowerBound) to \(limits.upperBound), not \(number)")
            return limits.lowerBound
        }
        return number
    }

    /// Reads a list, which must not be empty by default.
    package mutating func sequence(_ node: Node?, _ what: String, mayBeEmpty: Bool = false) -> [Node] {
        guard let node else { return [] }
        guard case .sequence(let sequence) = node else {
            report(node, "\(what) must be a list")
            return []
        }
        if sequence.isEmpty, !mayBeEmpty { report(node, "\(what) is empty") }
        return Array(sequence)
    }

    package static func integer(_ text: String) -> Int? {
        let isNegative = text.hasPrefix("-")
        let digits = isNegative ? text.dropFirst() : text[...]
        guard let first = digits.first, first.isASCII, first.isNumber else { return nil }
        let radix = digits.hasPrefix("0x") || digits.hasPrefix("0X") ? 16 : digits.hasPrefix("0b") ? 2 : 10
        let body = radix == 10 ? digits : digits.dropFirst(2)
        guard body.first != "+", body.first != "-" else { return nil }
        return Int((isNegative ? "-" : "") + body, radix: radix)
    }

    /// Reads a duration: `20 ms`, `1.5 s`, `625 us`.
    package mutating func duration(_ node: Node?, _ what: String, atMost limit: Microseconds? = nil) -> Microseconds? {
        guard let node, let text = text(node, what) else { return nil }
        guard let time = Self.duration(text) else {
            report(node, "\(what): '\(text)' is not a time; write 250 us, 20 ms, 1.5 s or 2 min")
            return nil
        }
        if let limit, time > limit || time == .zero {
            report(node, "\(what) is a time of more than 0 and at most \(limit.text), not \(text)")
            return nil
        }
        return time
    }

    package static func duration(_ text: String) -> Microseconds? {
        let units: [(String, Double)] = [("us", 1), ("ms", 1_000), ("min", 60_000_000), ("s", 1_000_000)]
        for (unit, factor) in units where text.hasSuffix(unit) {
            let digits = text.dropLast(unit.count).filter { $0 != " " }
            guard let number = Double(digits), number >= 0, number * factor <= 1e13 else { return nil }
            return Microseconds(Int64(saturating: (number * factor).rounded()))
        }
        return nil
    }
}
