/// A value in a declaration file, with the place where it begins.
struct Node {
    enum Content {
        case scalar(String)
        case sequence([Node])
        case mapping([(key: Node, value: Node)])
    }

    var content: Content
    /// From 1.
    var line: Int
    var column: Int

    var string: String? { if case .scalar(let text) = content { text } else { nil } }
    var sequence: [Node]? { if case .sequence(let items) = content { items } else { nil } }
    var mapping: [(key: Node, value: Node)]? { if case .mapping(let pairs) = content { pairs } else { nil } }

    subscript(key: String) -> Node? { mapping?.first { $0.key.string == key }?.value }
}

/// Reads the part of YAML that declarations use: mappings and sequences in blocks and, within a line, in braces and brackets; plain and
/// double-quoted scalars; comments. Anything else is a mistake, so that a file means the same to every reader of YAML. A complete reader
/// would have to be compiled for the generator before anything else is.
struct DeclarationReader {
    struct Mistake: Error, Equatable {
        var line: Int
        var column: Int
        var text: String
    }

    private struct Line {
        var number: Int
        var indent: Int
        var text: Substring
    }

    private var lines: [Line] = []
    private var next = 0

    /// Returns the content of a file as a tree; nil for a file without content.
    static func read(_ text: String) throws -> Node? {
        var reader = DeclarationReader()
        for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            let content = line.drop { $0 == " " }
            guard let first = content.first, first != "#" else { continue }
            guard first != "\t" else {
                throw Mistake(line: index + 1, column: line.count - content.count + 1, text: "lines are indented with spaces")
            }
            reader.lines.append(Line(number: index + 1, indent: line.count - content.count, text: content))
        }
        guard let first = reader.lines.first else { return nil }
        let root = try reader.block(indent: first.indent)
        if reader.next < reader.lines.count { throw reader.mistake("the indentation fits no line above") }
        return root
    }

    private static func isItem(_ line: Line) -> Bool { line.text.hasPrefix("- ") }

    private mutating func block(indent: Int) throws -> Node {
        let start = lines[next]
        var items: [Node] = []
        var pairs: [(key: Node, value: Node)] = []
        while next < lines.count, lines[next].indent == indent, Self.isItem(lines[next]) == Self.isItem(start) {
            if Self.isItem(start) {
                items.append(try item())
            } else {
                let pair = try pair()
                if pairs.contains(where: { $0.key.string == pair.key.string }) {
                    throw Mistake(line: pair.key.line, column: pair.key.column, text: "\(pair.key.string ?? "") stands here twice")
                }
                pairs.append(pair)
            }
        }
        return Node(content: Self.isItem(start) ? .sequence(items) : .mapping(pairs), line: start.number, column: start.indent + 1)
    }

    /// The mapping or the value after `- `.
    private mutating func item() throws -> Node {
        let text = lines[next].text.dropFirst(2).drop { $0 == " " }
        let indent = lines[next].indent + lines[next].text.count - text.count
        lines[next] = Line(number: lines[next].number, indent: indent, text: text)
        var cursor = cursor(at: text)
        if !text.hasPrefix("[") && !text.hasPrefix("{"), try cursor.key() != nil { return try block(indent: indent) }
        defer { next += 1 }
        var value = self.cursor(at: text)
        return try value.lastValue()
    }

    private mutating func pair() throws -> (key: Node, value: Node) {
        let line = lines[next]
        var cursor = cursor(at: line.text)
        guard let key = try cursor.key() else { throw mistake("a line is `key: value` or `- value`") }
        next += 1
        if !cursor.isAtEnd { return (key, try cursor.lastValue()) }
        if next < lines.count, lines[next].indent > line.indent || lines[next].indent == line.indent && Self.isItem(lines[next]) {
            return (key, try block(indent: lines[next].indent))
        }
        return (key, Node(content: .scalar(""), line: line.number, column: line.indent + 1))
    }

    private func cursor(at text: Substring) -> LineCursor {
        LineCursor(rest: text, line: lines[next].number, width: lines[next].indent + lines[next].text.count)
    }

    private func mistake(_ text: String) -> Mistake { Mistake(line: lines[next].number, column: lines[next].indent + 1, text: text) }
}

/// Reads values within a line.
private struct LineCursor {
    var rest: Substring
    let line: Int
    /// Characters of the whole line.
    let width: Int

    var isAtEnd: Bool { rest.allSatisfy { $0 == " " } || rest.drop { $0 == " " }.hasPrefix("#") && rest.hasPrefix(" ") }

    private func mistake(_ text: String) -> DeclarationReader.Mistake {
        .init(line: line, column: width - rest.count + 1, text: text)
    }

    private mutating func skipSpaces() { rest = rest.drop { $0 == " " } }

    private mutating func take(_ character: Character) -> Bool {
        guard rest.first == character else { return false }
        rest.removeFirst()
        return true
    }

    /// A key and its colon; nil if the line has none.
    mutating func key(endedBy ends: [Character] = []) throws -> Node? {
        let column = width - rest.count + 1
        let text: String
        if rest.first == "\"" {
            text = try quoted()
        } else {
            guard let colon = rest.indices.first(where: { isColon($0) }), !rest[..<colon].contains(where: { ends.contains($0) }) else {
                return nil
            }
            text = String(rest[..<colon])
            rest = rest[colon...]
        }
        guard take(":") else { return nil }
        return Node(content: .scalar(text), line: line, column: column)
    }

    private func isColon(_ index: Substring.Index) -> Bool {
        guard rest[index] == ":" else { return false }
        let after = rest.index(after: index)
        return after == rest.endIndex || rest[after] == " "
    }

    /// The value that the line ends with.
    mutating func lastValue() throws -> Node {
        let value = try value(endedBy: [])
        guard isAtEnd else { throw mistake("a value ends before this") }
        return value
    }

    private mutating func value(endedBy ends: [Character]) throws -> Node {
        skipSpaces()
        let column = width - rest.count + 1
        let content: Node.Content
        switch rest.first {
        case "\"": content = .scalar(try quoted())
        case "[": content = .sequence(try list("[", "]") { try $0.value(endedBy: [",", "]"]) })
        case "{":
            content = .mapping(
                try list("{", "}") {
                    guard let key = try $0.key(endedBy: [",", "}"]) else { throw $0.mistake("a mapping has `key: value`") }
                    return (key, try $0.value(endedBy: [",", "}"]))
                })
        case let first? where "&*!|>'%@`?-#,]}".contains(first) && !(first == "-" && rest.dropFirst().first?.isNumber == true):
            throw mistake("a plain value does not begin with \(first)")
        default: content = .scalar(try plain(endedBy: ends))
        }
        return Node(content: content, line: line, column: column)
    }

    private mutating func list<Element>(
        _ open: Character, _ close: Character, _ element: (inout LineCursor) throws -> Element
    ) throws -> [Element] {
        var elements: [Element] = []
        _ = take(open)
        skipSpaces()
        if take(close) { return [] }
        while true {
            skipSpaces()
            elements.append(try element(&self))
            skipSpaces()
            if take(close) { return elements }
            guard take(",") else { throw mistake("`,` or `\(close)` is missing") }
        }
    }

    private mutating func plain(endedBy ends: [Character]) throws -> String {
        var end = rest.startIndex
        while end < rest.endIndex, !ends.contains(rest[end]), !rest[end...].hasPrefix(" #") {
            if isColon(end) { throw mistake("a plain value contains no `: `") }
            end = rest.index(after: end)
        }
        var text = rest[..<end]
        rest = rest[end...]
        while text.last == " " { text.removeLast() }
        return String(text)
    }

    private mutating func quoted() throws -> String {
        let body = rest.dropFirst()
        guard let end = body.firstIndex(of: "\""), !body[..<end].contains("\\") else {
            throw mistake("a quoted value ends with a quote and has no backslash")
        }
        rest = body[body.index(after: end)...]
        return String(body[..<end])
    }
}
