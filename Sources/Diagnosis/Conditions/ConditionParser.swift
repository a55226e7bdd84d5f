import BBCases
import Yams

/// Parses conditions on packets: names of PDUs, comparisons of fields and `{Field: condition}`, with `and`, `or`, `not` and brackets.
struct ConditionParser {
    private enum Token: Hashable {
        case open, close
        case comparison(String)
        /// The condition of a case in braces.
        case fields(String)
        case word(String)
    }

    private var tokens: ArraySlice<Token>
    private var depth = 0
    private static let longest = 10_000
    private static let deepest = 64
    private static let comparisons = ["==", "!=", ">=", "<=", "=", ">", "<"]

    init(_ text: String) throws(PacketCondition.Malformed) {
        guard text.utf8.count <= Self.longest else { throw .init("a condition has at most \(Self.longest) characters") }
        tokens = try Self.tokens(text[...])[...]
    }

    /// The whole condition.
    mutating func condition() throws(PacketCondition.Malformed) -> PacketCondition.Expression {
        let all = try any()
        if let next = tokens.first { throw .init("'\(Self.text(next))' is not expected there") }
        return all
    }

    private mutating func any() throws(PacketCondition.Malformed) -> PacketCondition.Expression {
        var choices = [try every()]
        while take("or") { choices.append(try every()) }
        return choices.count == 1 ? choices[0] : .any(choices)
    }

    private mutating func every() throws(PacketCondition.Malformed) -> PacketCondition.Expression {
        var parts = [try single()]
        while take("and") { parts.append(try single()) }
        return parts.count == 1 ? parts[0] : .every(parts)
    }

    private mutating func single() throws(PacketCondition.Malformed) -> PacketCondition.Expression {
        depth += 1
        defer { depth -= 1 }
        guard depth <= Self.deepest else { throw .init("brackets are nested too deeply") }
        guard let token = tokens.popFirst() else { throw .init("a condition is expected at the end, as Status != Success") }
        switch token {
        case .word("not"): return .not(try single())
        case .open:
            let inner = try any()
            guard tokens.popFirst() == .close else { throw .init("a closing bracket is missing") }
            return inner
        case .fields(let yaml): return try .atom(PacketCondition.Atom(yaml))
        case .word(let name): return try .atom(atom(name))
        case .close, .comparison: throw .init("'\(Self.text(token))' is not expected there")
        }
    }

    private mutating func atom(_ name: String) throws(PacketCondition.Malformed) -> PacketCondition.Atom {
        guard case .comparison(let comparison)? = tokens.first else { return try PacketCondition.Atom(named: name) }
        tokens.removeFirst()
        let value: String
        switch tokens.popFirst() {
        case .word(let word): value = word
        case .fields(let text): value = text
        default: throw .init("a value is expected after '\(name) \(comparison)'")
        }
        let condition =
            switch comparison {
            case "!=": "{not: \(value)}"
            case ">=": "{atLeast: \(value)}"
            case "<=": "{atMost: \(value)}"
            case ">": "{allOf: [{atLeast: \(value)}, {not: \(value)}]}"
            case "<": "{allOf: [{atMost: \(value)}, {not: \(value)}]}"
            default: value
            }
        return try PacketCondition.Atom("{\(name): \(condition)}")
    }

    private mutating func take(_ word: String) -> Bool {
        guard tokens.first == .word(word) else { return false }
        tokens.removeFirst()
        return true
    }

    // MARK: Tokens

    private static func tokens(_ text: Substring) throws(PacketCondition.Malformed) -> [Token] {
        var rest = text
        var tokens: [Token] = []
        while let first = rest.first {
            if first.isWhitespace {
                rest.removeFirst()
            } else if first == "(" || first == ")" {
                tokens.append(first == "(" ? .open : .close)
                rest.removeFirst()
            } else if let comparison = comparisons.first(where: { rest.hasPrefix($0) }) {
                tokens.append(.comparison(comparison))
                rest = rest.dropFirst(comparison.count)
            } else if first == "{" {
                tokens.append(.fields(String(try braces(&rest))))
            } else {
                tokens.append(.word(try word(&rest)))
            }
        }
        return tokens
    }

    private static func braces(_ rest: inout Substring) throws(PacketCondition.Malformed) -> Substring {
        var depth = 0
        for index in rest.indices {
            if rest[index] == "{" { depth += 1 }
            if rest[index] == "}" { depth -= 1 }
            guard depth == 0 else { continue }
            defer { rest = rest[rest.index(after: index)...] }
            return rest[...index]
        }
        throw .init("a closing brace is missing")
    }

    /// A name or a value; a quoted one keeps its quotation marks, which YAML removes.
    private static func word(_ rest: inout Substring) throws(PacketCondition.Malformed) -> String {
        guard let quote = rest.first, quote == "\"" || quote == "'" else {
            let word = rest.prefix { !$0.isWhitespace && !"(){}=!<>".contains($0) }
            // A sign that begins no token, as `!` alone.
            guard !word.isEmpty else { throw .init("'\(rest.prefix(1))' is not expected there") }
            rest = rest[word.endIndex...]
            return String(word)
        }
        guard let end = rest.dropFirst().firstIndex(of: quote) else { throw .init("a quotation mark is missing") }
        defer { rest = rest[rest.index(after: end)...] }
        return String(rest[...end])
    }

    private static func text(_ token: Token) -> String {
        switch token {
        case .open: "("
        case .close: ")"
        case .comparison(let text), .fields(let text), .word(let text): text
        }
    }
}
