import Foundation

/// An implementation conformance statement (ICS): the items that the maker of a device declares, or the public test cases that apply to it.
public struct ConformanceStatement: Sendable {
    /// The items by name in capitals, such as `TSPC_GATT_3_1`, and if they are declared.
    public private(set) var items: [String: Bool] = [:]
    /// The public test cases that are declared one by one.
    public private(set) var ids: Set<String> = []
    /// True for a file that lists the supported items only: what it does not name is not declared.
    public private(set) var isClosed = false
    private let file: String
    private var problems: [Problem] = []

    /// Reads lines of items and of public ids, a page of documentation with a table of items, or a workspace of PTS.
    ///
    /// - Throws: `Problems` for a value that is neither TRUE nor FALSE, an item with two values, or a file without items.
    public static func load(_ path: String) throws(Problems) -> ConformanceStatement {
        guard let data = FileManager.default.contents(atPath: path) else {
            throw Problems([Problem(Position(file: path, line: 1, column: 1), "the conformance statement cannot be read")])
        }
        return try ConformanceStatement(String(decoding: data, as: UTF8.self), file: path)
    }

    init(_ text: String, file: String) throws(Problems) {
        self.file = file
        let content = text.utf8.starts(with: "\u{FEFF}".utf8) ? Substring(text.unicodeScalars.dropFirst()) : Substring(text)
        if content.utf8.first(where: { !" \t\r\n".utf8.contains($0) }) == UInt8(ascii: "<") {
            readWorkspace(content)
        } else {
            readLines(content, isPage: file.hasSuffix(".rst") || file.hasSuffix(".md"))
        }
        if problems.isEmpty, items.isEmpty, ids.isEmpty {
            report(
                1, 0, "no item of a conformance statement, such as TSPC_GATT_3_1 TRUE, and no public test case, such as SM/PER/JW/BV-02-C")
        }
        guard problems.isEmpty else { throw Problems(problems) }
    }

    /// The declared value of an item; nil if the statement does not name it.
    public subscript(item: String) -> Bool? { items[item.uppercased()] ?? (isClosed ? false : nil) }

    /// The declared value of an item; nil also if a list of supported items has none of its profile: it is then about another layer.
    func declared(_ item: String) -> Bool? {
        guard isClosed, items[item.uppercased()] == nil else { return self[item] }
        let profile = item.uppercased().split(separator: "_").prefix(2).joined(separator: "_") + "_"
        return items.keys.contains { $0.hasPrefix(profile) } ? false : nil
    }

    private mutating func report(_ line: Int, _ offset: Int, _ text: String) {
        problems.append(Problem(Position(file: file, line: line, column: offset + 1), text))
    }

    private mutating func set(_ item: String, _ value: Bool, _ line: Int, _ offset: Int) {
        let name = item.uppercased()
        if let first = items[name], first != value {
            report(line, offset, "\(item) is TRUE in one place and FALSE in another")
        }
        items[name] = value
    }

    // MARK: Lines

    static let mark = "TSPC_"

    /// A word with the offset of its first octet in the line.
    private struct Word {
        var text: Substring
        var offset: Int
    }

    private static func words(of line: Substring, separators: String) -> [Word] {
        line.utf8.split(whereSeparator: { separators.utf8.contains($0) }).map { octets in
            Word(text: Substring(octets), offset: line.utf8.distance(from: line.startIndex, to: octets.startIndex))
        }
    }

    /// - Parameter isPage: true for documentation, in which lines without an item are text.
    private mutating func readLines(_ text: Substring, isPage: Bool) {
        for (index, octets) in text.utf8.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).enumerated() {
            let line = Substring(octets.last == UInt8(ascii: "\r") ? octets.dropLast() : octets)
            guard let first = Self.words(of: line, separators: " \t|").first, !first.text.hasPrefix("#") else { continue }
            if first.text.hasPrefix(Self.mark) {
                readItem(line, first, index + 1)
            } else if !isPage {
                if first.text.contains("/") {
                    ids.insert(String(first.text))
                } else {
                    report(index + 1, first.offset, "'\(first.text)' is neither an item, such as TSPC_GATT_3_1, nor a public test case")
                }
            }
        }
    }

    /// Reads `TSPC_GATT_3_1 TRUE`, or a row of a table: `| TSPC_GATT_3_1 | x | ... |`, in which an empty cell is FALSE.
    private mutating func readItem(_ line: Substring, _ item: Word, _ number: Int) {
        let isRow = line.utf8.first(where: { !" \t".utf8.contains($0) }) == UInt8(ascii: "|")
        let cells = Self.words(of: line[item.text.endIndex...], separators: isRow ? "|" : " \t")
        let base = line.utf8.distance(from: line.startIndex, to: item.text.endIndex)
        // In a row, the blanks before the bar are the first cell.
        let value = isRow ? cells.dropFirst(cells.first?.offset == 0 ? 1 : 0).first : cells.first
        let text = value?.text.split(separator: " ").first.map(String.init) ?? ""
        switch text.uppercased() {
        case "TRUE", "YES", "X": set(String(item.text), true, number, item.offset)
        case "FALSE", "NO": set(String(item.text), false, number, item.offset)
        case "" where isRow: set(String(item.text), false, number, item.offset)
        default:
            let place = value.map { base + $0.offset } ?? base
            report(number, place, "after \(item.text), TRUE or FALSE is expected" + (text.isEmpty ? "" : ", not '\(text)'"))
        }
    }

    // MARK: Workspaces of PTS

    /// Reads a workspace: `<Name>TSPC_GATT_3_1</Name> ... <Value>TRUE</Value>`, or an export of the supported items:
    /// `<profile><name>GATT</name><item><table>3</table><row>1</row></item> ...`.
    private mutating func readWorkspace(_ text: Substring) {
        var (item, profile, table) = ("", "", "")
        var itemLine = 1
        for element in XMLElements(text) {
            switch element.name {
            case "Name" where element.text.hasPrefix(Self.mark): (item, itemLine) = (element.text, element.line)
            case "Name": item = ""
            case "Value" where !item.isEmpty:
                switch element.text.uppercased() {
                case "TRUE": set(item, true, itemLine, 0)
                case "FALSE": set(item, false, itemLine, 0)
                default: report(element.line, element.offset, "after \(item), TRUE or FALSE is expected, not '\(element.text)'")
                }
                item = ""
            case "name": profile = element.text
            case "table": table = element.text
            case "row" where !profile.isEmpty && !table.isEmpty:
                isClosed = true
                set("\(Self.mark)\(profile)_\(table)_\(element.text)", true, element.line, 0)
                table = ""
            default: break
            }
        }
    }
}

/// The elements of an XML text that hold only text.
private struct XMLElements: Sequence, IteratorProtocol {
    struct Element {
        var name: Substring
        var text: String
        /// The line of the text, and its offset in the line.
        var line: Int
        var offset: Int
    }

    private var rest: Substring.UTF8View
    private var line = 1
    private var offset = 0

    init(_ text: Substring) { rest = text.utf8 }

    mutating func next() -> Element? {
        while let (name, isEnd) = tag() {
            let (line, offset) = (line, offset)
            let text = take(until: UInt8(ascii: "<"))
            if !isEnd, rest.dropFirst().first == UInt8(ascii: "/") {
                let words = Substring(text).split(whereSeparator: \.isWhitespace).joined(separator: " ")
                return Element(name: name, text: words, line: line, offset: offset)
            }
        }
        return nil
    }

    /// Takes the next tag: its name without attributes, and true for an end tag.
    private mutating func tag() -> (name: Substring, isEnd: Bool)? {
        _ = take(until: UInt8(ascii: "<"))
        guard !rest.isEmpty else { return nil }
        _ = take(1)
        let isEnd = rest.first == UInt8(ascii: "/")
        let content = take(until: UInt8(ascii: ">"))
        _ = take(1)
        let name = content.prefix { !" \t\r\n/".utf8.contains($0) }
        return (Substring(name), isEnd)
    }

    private mutating func take(until mark: UInt8) -> Substring.UTF8View {
        take(rest.firstIndex(of: mark).map { rest.distance(from: rest.startIndex, to: $0) } ?? rest.count)
    }

    private mutating func take(_ count: Int) -> Substring.UTF8View {
        let taken = rest.prefix(count)
        for octet in taken {
            offset += 1
            if octet == UInt8(ascii: "\n") { (line, offset) = (line + 1, 0) }
        }
        rest = rest.dropFirst(count)
        return taken
    }
}
