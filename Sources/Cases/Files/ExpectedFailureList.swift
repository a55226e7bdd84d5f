import Foundation

/// A file of expected failures: in each line the id of a case or of a public test case, then the reason.
public enum ExpectedFailureList {
    public struct Entry: Sendable, Hashable {
        public var id: String
        public var reason: String
        public var position: Position
    }

    /// Reads the lines; those that begin with `#` are comments.
    ///
    /// - Throws: `Problems` for a line without a reason, or an id that is there twice.
    public static func load(_ path: String) throws(Problems) -> [Entry] {
        guard let data = FileManager.default.contents(atPath: path) else {
            throw Problems([Problem(Position(file: path, line: 1, column: 1), "the list of expected failures cannot be read")])
        }
        var entries: [Entry] = []
        var problems: [Problem] = []
        let lines = data.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        for (index, octets) in lines.enumerated() {
            let line = String(decoding: octets, as: UTF8.self)
            let text = line.drop(while: \.isWhitespace)
            guard !text.isEmpty, !text.hasPrefix("#") else { continue }
            let id = idOfLine(text)
            let column = line.distance(from: line.startIndex, to: text.startIndex) + 1
            var entry = Entry(id: String(id), reason: "", position: Position(file: path, line: index + 1, column: column))
            entry.reason = text[id.endIndex...].split(whereSeparator: \.isWhitespace).joined(separator: " ")
            if entry.reason.isEmpty {
                let end = Position(file: path, line: index + 1, column: column + id.count)
                problems.append(Problem(end, "the reason is missing: write it after \(id)"))
            }
            if let first = entries.first(where: { $0.id == entry.id }) {
                problems.append(Problem(entry.position, "\(entry.id) is already in line \(first.position.line)"))
            }
            entries.append(entry)
        }
        guard problems.isEmpty else { throw Problems(problems) }
        return entries
    }

    /// Returns the first word. The brackets of a round may contain blanks.
    private static func idOfLine(_ line: Substring) -> Substring {
        var isInside = false
        return line.prefix { character in
            if character == "[" { isInside = true } else if character == "]" { isInside = false }
            return isInside || !character.isWhitespace
        }
    }
}
