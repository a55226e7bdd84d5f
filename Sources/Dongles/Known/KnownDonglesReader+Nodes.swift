import BBPackets
import Yams

/// YAML nodes of a table.
extension KnownDonglesReader {
    struct Keys {
        var node: Node
        fileprivate var entries: [(name: String, place: Node, value: Node)]

        var isEmpty: Bool { entries.isEmpty }

        mutating func take(_ name: String) -> Node? {
            entries.firstIndex { $0.name == name }.map { entries.remove(at: $0).value }
        }
    }

    mutating func report(_ line: Int, _ column: Int, _ text: String) {
        if errors.count < 100 { errors.append(TableError(file: file, line: line, column: column, text: text)) }
    }

    mutating func report(_ node: Node, _ text: String) { report(node.mark?.line ?? 1, node.mark?.column ?? 1, text) }

    mutating func report(_ error: YamlError) {
        switch error {
        case .scanner(_, let problem, let mark, _), .parser(_, let problem, let mark, _), .composer(_, let problem, let mark, _):
            report(mark.line, mark.column, "not YAML: \(problem)")
        case .duplicatedKeysInMapping(let names, let context):
            report(context.mark.line, context.mark.column, "'\(names.map { "\($0)" }.sorted().joined(separator: ", "))' stands twice")
        default: report(1, 1, "not YAML: \(error)")
        }
    }

    mutating func keys(_ node: Node, of what: String) -> Keys? {
        guard case .mapping(let mapping) = node else {
            report(node, "\(what) is a set of `name: value` lines")
            return nil
        }
        var keys = Keys(node: node, entries: [])
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
    mutating func finish(_ keys: Keys, of what: String, allowed: [String]) {
        for entry in keys.entries { report(entry.place, "\(what) has no '\(entry.name)'" + hint(entry.name, allowed)) }
    }

    func hint(_ word: String, _ names: [String]) -> String {
        let shared = names.map { name in (name: name, count: zip(name, word).prefix { $0 == $1 }.count) }
        let most = shared.map(\.count).max() ?? 0
        let near = most < 3 ? [] : shared.filter { $0.count == most }.map(\.name)
        return near.isEmpty ? "; there are \(names.joined(separator: ", "))" : "; did you mean \(near.joined(separator: " or "))?"
    }

    mutating func text(_ node: Node, _ what: String) -> String? {
        guard case .scalar(let scalar) = node, !scalar.string.allSatisfy(\.isWhitespace) else {
            report(node, "\(what) is a line of text")
            return nil
        }
        return scalar.string
    }

    mutating func required(_ name: String, _ keys: inout Keys) -> String {
        guard let node = keys.take(name) else {
            report(keys.node, "`\(name):` is missing")
            return ""
        }
        return text(node, name) ?? ""
    }

    mutating func sequence(_ node: Node?, _ what: String) -> [Node] {
        guard let node else { return [] }
        guard case .sequence(let sequence) = node else {
            report(node, "\(what) is a list")
            return []
        }
        return Array(sequence)
    }

    /// A list of words, or a single word.
    mutating func words(_ node: Node?, _ what: String) -> [(text: String, node: Node)] {
        guard let node else { return [] }
        let nodes: [Node] = if case .scalar = node { [node] } else { sequence(node, what) }
        return nodes.compactMap { entry in text(entry, what).map { ($0, entry) } }
    }
}
