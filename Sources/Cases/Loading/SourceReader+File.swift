import Foundation
import Yams

extension SourceReader {
    /// Parses the file's only document; returns nil after reporting the problem.
    package mutating func compose() -> Node? {
        let start = Position(file: file, line: 1, column: 1)
        guard let data = FileManager.default.contents(atPath: file) else {
            report(start, "the file cannot be read")
            return nil
        }
        guard let text = String(data: data, encoding: .utf8) else {
            report(start, "the file is not UTF-8 text")
            return nil
        }
        return compose(text)
    }

    package mutating func compose(_ text: String) -> Node? {
        if let impediment = SourceLimits.impediment(in: text) {
            report(Position(file: file, line: impediment.line, column: impediment.column), impediment.text)
            return nil
        }
        do {
            // The default resolver applies regular expressions to each key, to find types that are not used here.
            guard let node = try Yams.compose(yaml: text, .basic, .default, .utf8) else {
                report(Position(file: file, line: 1, column: 1), "the file is empty")
                return nil
            }
            if SourceLimits.isReasonable(node) { return node }
            report(node, "with its aliases written out the file has more than \(SourceLimits.nodes) values")
        } catch let error as YamlError {
            let place = Self.position(of: error, file: file)
            report(place, Self.isTab(at: place, in: text) ? "not YAML: a tab; lines are indented with spaces" : Self.words(of: error))
        } catch {
            report(Position(file: file, line: 1, column: 1), "not YAML: \(error)")
        }
        return nil
    }

    private static func isTab(at place: Position, in text: String) -> Bool {
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        guard lines.indices.contains(place.line - 1) else { return false }
        return lines[place.line - 1].prefix { $0 == " " || $0 == "\t" }.contains("\t")
    }

    private static func position(of error: YamlError, file: String) -> Position {
        switch error {
        case .scanner(_, _, let mark, _), .parser(_, _, let mark, _), .composer(_, _, let mark, _):
            Position(file: file, line: max(1, mark.line), column: max(1, mark.column))
        case .duplicatedKeysInMapping(_, let context):
            Position(file: file, line: max(1, context.mark.line), column: max(1, context.mark.column))
        default: Position(file: file, line: 1, column: 1)
        }
    }

    private static func words(of error: YamlError) -> String {
        switch error {
        case .scanner(_, let problem, _, _), .parser(_, let problem, _, _), .composer(_, let problem, _, _): "not YAML: \(problem)"
        case .duplicatedKeysInMapping(let duplicates, _): "the same name twice: \(duplicates.sorted().joined(separator: ", "))"
        default: "not YAML: \(error)"
        }
    }
}
