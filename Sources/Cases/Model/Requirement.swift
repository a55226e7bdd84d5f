/// A condition on the features of tester and subject: `tester.LE_2M_PHY and not subject.LE_Coded_PHY`.
public indirect enum Requirement: Sendable, Hashable {
    case feature(String)
    case not(Requirement)
    case and(Requirement, Requirement)
    case or(Requirement, Requirement)

    public func holds(in features: Set<String>) -> Bool {
        switch self {
        case .feature(let name): features.contains(name)
        case .not(let inner): !inner.holds(in: features)
        case .and(let a, let b): a.holds(in: features) && b.holds(in: features)
        case .or(let a, let b): a.holds(in: features) || b.holds(in: features)
        }
    }

    /// True if a device without these features could satisfy the requirement.
    public func canHold(without missing: Set<String>) -> Bool {
        switch self {
        case .feature(let name): !missing.contains(name)
        case .not: true
        case .and(let a, let b): a.canHold(without: missing) && b.canHold(without: missing)
        case .or(let a, let b): a.canHold(without: missing) || b.canHold(without: missing)
        }
    }

    /// Returns descriptions of the unsatisfied parts of the requirement.
    public func unmet(in features: Set<String>) -> [String] {
        guard !holds(in: features) else { return [] }
        switch self {
        case .feature(let name): return [name]
        case .not(let inner): return ["not " + inner.description]
        case .and(let a, let b): return a.unmet(in: features) + b.unmet(in: features)
        case .or: return [description]
        }
    }

    /// The features in the requirement.
    public var names: [String] {
        switch self {
        case .feature(let name): [name]
        case .not(let inner): inner.names
        case .and(let a, let b), .or(let a, let b): a.names + b.names
        }
    }
}

extension Requirement: CustomStringConvertible {
    public var description: String {
        switch self {
        case .feature(let name): name
        case .not(let inner): "not \(inner)"
        case .and(let a, let b): "\(a) and \(b)"
        case .or(let a, let b): "(\(a) or \(b))"
        }
    }
}

extension Requirement {
    /// A syntax error with its offset in characters.
    struct SyntaxError: Error {
        var offset: Int
        package var text: String
    }

    init(parsing text: String) throws(SyntaxError) {
        var parser = Parser(tokens: Parser.tokens(of: text), end: text.count)
        self = try parser.disjunction()
        if let extra = parser.peek { throw SyntaxError(offset: extra.offset, text: "'\(extra.text)' is not expected here") }
    }

    private struct Parser {
        struct Token {
            var text: String
            var offset: Int
        }

        var tokens: [Token]
        var end: Int
        var index = 0
        var depth = 0

        init(tokens: [Token], end: Int) {
            self.tokens = tokens
            self.end = end
        }

        var peek: Token? { index < tokens.count ? tokens[index] : nil }

        static func tokens(of text: String) -> [Token] {
            var tokens: [Token] = []
            var word = ""
            var start = 0
            let characters = Array(text + " ")
            for (offset, character) in characters.enumerated() {
                // The version is part of a command's name: LE_Receiver_Test [v2].
                let isBeforeVersion = character == " " && characters.dropFirst(offset + 1).first == "["
                if !isBeforeVersion, character == " " || character == "(" || character == ")" || character == "\n" {
                    if !word.isEmpty { tokens.append(Token(text: word, offset: start)) }
                    word = ""
                    if character == "(" || character == ")" { tokens.append(Token(text: String(character), offset: offset)) }
                } else {
                    if word.isEmpty { start = offset }
                    word.append(character)
                }
            }
            return tokens
        }

        package mutating func take(_ word: String) -> Bool {
            guard peek?.text == word else { return false }
            index += 1
            return true
        }

        mutating func disjunction() throws(SyntaxError) -> Requirement {
            var left = try conjunction()
            while take("or") { left = .or(left, try conjunction()) }
            return left
        }

        mutating func conjunction() throws(SyntaxError) -> Requirement {
            var left = try negation()
            while take("and") { left = .and(left, try negation()) }
            return left
        }

        mutating func negation() throws(SyntaxError) -> Requirement {
            depth += 1
            defer { depth -= 1 }
            guard depth < 64 else { throw SyntaxError(offset: peek?.offset ?? end, text: "too many nested parts") }
            if take("not") { return .not(try negation()) }
            if take("(") {
                let inner = try disjunction()
                guard take(")") else { throw SyntaxError(offset: peek?.offset ?? end, text: "a ')' is missing") }
                return inner
            }
            guard let token = peek, token.text != ")", token.text != "and", token.text != "or" else {
                throw SyntaxError(offset: peek?.offset ?? end, text: "the name of a feature is missing")
            }
            index += 1
            return .feature(token.text)
        }
    }
}
