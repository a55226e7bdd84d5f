import BBPackets
import Yams

/// The keys of a mapping; each is taken once.
package struct TableKeys {
    package var node: Node
    fileprivate var entries: [(name: String, place: Node, value: Node)]

    package var isEmpty: Bool { entries.isEmpty }
    package var names: [String] { entries.map(\.name) }

    package mutating func take(_ name: String) -> Node? {
        entries.firstIndex { $0.name == name }.map { entries.remove(at: $0).value }
    }
}

/// Reads a YAML file of rows and values, and collects all errors with their positions.
package protocol TableReading {
    var file: String { get }
    var errors: [TableError] { get set }
}

extension TableReading {
    private static var longest: Int { 1 << 20 }

    /// The root of a text; nil, after an error, if there is none.
    package mutating func compose(_ text: String) -> Node? {
        if text.utf8.count > Self.longest {
            report(1, 1, "a table has at most \(Self.longest) octets")
        } else if Self.isDeep(text) {
            report(1, 1, "the file is nested too deeply for a table")
        } else {
            do {
                if let root = try Yams.compose(yaml: text, .basic, .default, .utf8) { return root }
                report(1, 1, "the file is empty")
            } catch let error as YamlError {
                report(error)
            } catch {
                report(1, 1, "not YAML: \(error)")
            }
        }
        return nil
    }

    /// True if brackets or indentation are nested deeper than a table needs; checked before the recursive parser runs.
    private static func isDeep(_ text: String) -> Bool {
        var brackets = 0
        for line in text.utf8.split(separator: UInt8(ascii: "\n")) {
            let indent = line.prefix { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "?") }.count
            for octet in line {
                if octet == UInt8(ascii: "[") || octet == UInt8(ascii: "{") { brackets += 1 }
                if octet == UInt8(ascii: "]") || octet == UInt8(ascii: "}") { brackets = max(0, brackets - 1) }
            }
            if brackets > 32 || indent > 200 { return true }
        }
        return false
    }

    package mutating func report(_ line: Int, _ column: Int, _ text: String) {
        if errors.count < 100 { errors.append(TableError(file: file, line: line, column: column, text: text)) }
    }

    package mutating func report(_ node: Node, _ text: String) { report(node.mark?.line ?? 1, node.mark?.column ?? 1, text) }

    private mutating func report(_ error: YamlError) {
        switch error {
        case .scanner(_, let problem, let mark, _), .parser(_, let problem, let mark, _), .composer(_, let problem, let mark, _):
            report(mark.line, mark.column, "not YAML: \(problem)")
        case .duplicatedKeysInMapping(let names, let context):
            report(context.mark.line, context.mark.column, "'\(names.map { "\($0)" }.sorted().joined(separator: ", "))' stands twice")
        default: report(1, 1, "not YAML: \(error)")
        }
    }

    package mutating func keys(_ node: Node, of what: String) -> TableKeys? {
        guard case .mapping(let mapping) = node else {
            report(node, "\(what) is a set of `name: value` lines")
            return nil
        }
        var keys = TableKeys(node: node, entries: [])
        for (key, value) in mapping {
            if case .scalar(let scalar) = key {
                keys.entries.append((scalar.string, key, value))
            } else {
                report(key, "a name is expected here")
            }
        }
        return keys
    }

    /// Reports unknown keys.
    package mutating func finish(_ keys: TableKeys, of what: String, allowed: [String]) {
        for entry in keys.entries { report(entry.place, "\(what) has no '\(entry.name)'" + hint(entry.name, allowed)) }
    }

    package func hint(_ word: String, _ names: [String]) -> String {
        let shared = names.map { name in (name: name, count: zip(name, word).prefix { $0 == $1 }.count) }
        let most = shared.map(\.count).max() ?? 0
        let near = most < 3 ? [] : shared.filter { $0.count == most }.map(\.name)
        return near.isEmpty ? "; there are \(names.joined(separator: ", "))" : "; did you mean \(near.joined(separator: " or "))?"
    }

    package mutating func text(_ node: Node, _ what: String) -> String? {
        guard case .scalar(let scalar) = node, !scalar.string.allSatisfy(\.isWhitespace) else {
            report(node, "\(what) is a line of text")
            return nil
        }
        return scalar.string
    }

    package mutating func required(_ name: String, _ keys: inout TableKeys) -> String {
        guard let node = keys.take(name) else {
            report(keys.node, "`\(name):` is missing")
            return ""
        }
        return text(node, name) ?? ""
    }

    package mutating func sequence(_ node: Node?, _ what: String) -> [Node] {
        guard let node else { return [] }
        guard case .sequence(let sequence) = node else {
            report(node, "\(what) is a list")
            return []
        }
        return Array(sequence)
    }

    /// A list of words, or a single word.
    package mutating func words(_ node: Node?, _ what: String) -> [(text: String, node: Node)] {
        guard let node else { return [] }
        let nodes: [Node] = if case .scalar = node { [node] } else { sequence(node, what) }
        return nodes.compactMap { entry in text(entry, what).map { ($0, entry) } }
    }
}
