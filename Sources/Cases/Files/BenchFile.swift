import Yams

/// `bench.yaml`: options that a bench always passes, under their names on the command line without `--`.
package struct BenchFile: Sendable {
    /// The kind of an option's value.
    package enum Kind: Sendable, Hashable {
        case text
        case number
        /// True or false, for a flag.
        case truth
        /// A text, or a list of texts for an option that can be repeated.
        case list
        /// The path of a file; a relative one begins at the folder of `bench.yaml`.
        case path
    }

    /// An option in the file.
    package struct Entry: Sendable, Hashable {
        package var name: String
        /// One value, or those of a list; nil for a flag that is set.
        package var values: [String]?
        package var position: Position

        /// The words on the command line. The value is joined to the name, because it may begin with a hyphen.
        package var arguments: [String] { values.map { $0.map { "--\(name)=\($0)" } } ?? ["--\(name)"] }

        /// The values as text; nil for a flag.
        package var text: String? { values?.joined(separator: ", ") }
    }

    package var entries: [Entry]

    /// - Parameter kinds: the known options.
    /// - Throws: `Problems` for an unknown name, a wrong type or a file that is not YAML.
    package static func read(_ path: String, kinds: [String: Kind]) throws(Problems) -> BenchFile {
        var reader = SourceReader(file: path, vocabulary: Vocabulary(pdus: []))
        return try finish(&reader, reader.compose(), kinds)
    }

    /// Reads the text of a file.
    static func read(text: String, file: String, kinds: [String: Kind]) throws(Problems) -> BenchFile {
        var reader = SourceReader(file: file, vocabulary: Vocabulary(pdus: []))
        return try finish(&reader, reader.compose(text), kinds)
    }

    private static func finish(_ reader: inout SourceReader, _ root: Node?, _ kinds: [String: Kind]) throws(Problems) -> BenchFile {
        let entries = root.map { reader.benchEntries($0, kinds) } ?? []
        guard reader.problems.isEmpty else { throw Problems(reader.problems) }
        return BenchFile(entries: entries)
    }

    /// The entries that a command uses: those of its options, except options that are on the command line or excluded by it.
    ///
    /// - Parameters:
    ///   - options: the names of the command's options without `--`.
    ///   - given: the names on the command line.
    ///   - exclusions: for an option, those that rule it out.
    package func entries(for options: Set<String>, given: Set<String>, exclusions: [String: Set<String>] = [:]) -> [Entry] {
        entries.filter { entry in
            options.contains(entry.name) && !given.contains(entry.name) && given.isDisjoint(with: exclusions[entry.name] ?? [])
        }
    }
}

extension SourceReader {
    fileprivate mutating func benchEntries(_ root: Node, _ kinds: [String: BenchFile.Kind]) -> [BenchFile.Entry] {
        guard let keys = keys(root, of: "the options of a bench") else { return [] }
        return keys.entries.compactMap { entry in
            let name = entry.name.hasPrefix("--") ? String(entry.name.dropFirst(2)) : entry.name
            guard let kind = kinds[name] else {
                report(entry.position, "unknown option '\(entry.name)'" + Suggestion.text(for: name, among: kinds.keys))
                return nil
            }
            // A flag that is false is as if it were not there.
            if kind == .truth, !truth(entry.node, name) { return nil }
            return BenchFile.Entry(name: name, values: values(entry.node, name, kind), position: position(entry.node))
        }
    }

    private mutating func values(_ node: Node, _ name: String, _ kind: BenchFile.Kind) -> [String]? {
        switch kind {
        case .text: return text(node, name).map { [$0] } ?? []
        case .number: return number(node, name).map { [$0] } ?? []
        case .truth: return nil
        case .list:
            guard case .sequence = node else { return text(node, name).map { [$0] } ?? [] }
            return sequence(node, name).compactMap { text($0, "an element of \(name)") }
        case .path: return text(node, name).map { [path($0)] } ?? []
        }
    }

    /// The number as it is written: the option has the range.
    private mutating func number(_ node: Node, _ name: String) -> String? {
        guard let text = text(node, name) else { return nil }
        if Double(text) == nil, Self.integer(text) == nil { report(node, "\(name) is a number, not '\(text)'") }
        return text
    }

    private func path(_ text: String) -> String {
        guard !text.hasPrefix("/"), text != "none", let slash = file.lastIndex(of: "/") else { return text }
        return file[...slash] + text
    }
}
