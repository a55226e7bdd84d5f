import Foundation

/// The list of public test-case ids for `covers:`.
public enum PublicCases {
    /// Reads one id from each line; lines that begin with `#` are comments.
    ///
    /// - Throws: `Problems` if the file cannot be read.
    public static func load(_ path: String) throws(Problems) -> Set<String> {
        guard let data = FileManager.default.contents(atPath: path) else {
            throw Problems([Problem(Position(file: path, line: 1, column: 1), "the list of public test-case ids cannot be read")])
        }
        var ids: Set<String> = []
        for line in Array(data).split(separator: UInt8(ascii: "\n")) {
            let id = String(decoding: line.filter { $0 != UInt8(ascii: " ") && $0 != UInt8(ascii: "\r") }, as: UTF8.self)
            if !id.isEmpty, !id.hasPrefix("#") { ids.insert(id) }
        }
        return ids
    }
}
