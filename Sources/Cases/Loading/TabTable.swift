import Foundation

/// A table of text separated by tabs: a line with the names of the columns, then rows. Lines that begin with `#` are comments; one of them names
/// the revision of what the table is about.
struct TabTable {
    /// A value with its place.
    struct Cell {
        var text: String
        var place: Position

        /// The parts of a list, separated by commas.
        var list: [String] { text.split(separator: ",").map { $0.split(separator: " ").joined(separator: " ") } }

        /// The condition that the cell holds; a mistake in it becomes a problem at its place.
        func condition(_ problems: inout [Problem]) -> Requirement? {
            do { return try Requirement(parsing: text) } catch {
                var place = place
                place.column += error.offset
                problems.append(Problem(place, error.text))
                return nil
            }
        }
    }

    /// A row; a cell that is missing at its end is empty, since editors remove the tabs there.
    struct Row {
        fileprivate var columns: [String]
        fileprivate var cells: [Cell]

        subscript(column: String) -> Cell? { columns.firstIndex(of: column).map { cells[$0] } }
    }

    private static let revisionMark = "# revision:"

    private(set) var columns: [String] = []
    private(set) var rows: [Row] = []
    private(set) var revision = ""
    private(set) var problems: [Problem] = []
    /// The place of the first column's name.
    private(set) var head: Position
    private let known: [String]
    private let file: String
    private var line = 0

    /// - Parameter known: the columns that the table may have.
    init(file: String, known: [String]) {
        (self.file, self.known) = (file, known)
        head = Position(file: file, line: 1, column: 1)
        guard let data = FileManager.default.contents(atPath: file) else {
            problems = [Problem(head, "the table cannot be read")]
            return
        }
        read(String(decoding: data, as: UTF8.self))
    }

    private mutating func read(_ text: String) {
        for octets in text.utf8.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
            line += 1
            let content = Substring(octets.last == UInt8(ascii: "\r") ? octets.dropLast() : octets)
            if content.utf8.first == UInt8(ascii: "#") {
                guard content.hasPrefix(Self.revisionMark) else { continue }
                revision = content.dropFirst(Self.revisionMark.count).split(separator: " ").joined(separator: " ")
            } else if !content.isEmpty {
                let cells = cells(of: content)
                if columns.isEmpty { readHead(cells) } else { readRow(cells) }
                // Without its columns the rest has no meaning.
                if columns.isEmpty { return }
            }
        }
        if columns.isEmpty { problems.append(Problem(head, "the table is empty: its first line names the columns")) }
    }

    private func cells(of content: Substring) -> [Cell] {
        var column = 1
        return content.utf8.split(separator: UInt8(ascii: "\t"), omittingEmptySubsequences: false).map { octets in
            defer { column += octets.count + 1 }
            return Cell(text: String(Substring(octets)), place: Position(file: file, line: line, column: column))
        }
    }

    private mutating func readHead(_ cells: [Cell]) {
        head = Position(file: file, line: line, column: 1)
        var found: [String] = []
        for cell in cells {
            guard known.contains(cell.text) else {
                problems.append(Problem(cell.place, "unknown column '\(cell.text)'" + Suggestion.text(for: cell.text, among: known)))
                return
            }
            guard !found.contains(cell.text) else {
                problems.append(Problem(cell.place, "the column '\(cell.text)' is there twice"))
                return
            }
            found.append(cell.text)
        }
        columns = found
    }

    private mutating func readRow(_ cells: [Cell]) {
        guard cells.count <= columns.count else {
            problems.append(Problem(cells[columns.count].place, "\(cells.count) cells for \(columns.count) columns"))
            return
        }
        var end = cells.last?.place ?? head
        end.column += cells.last?.text.utf8.count ?? 0
        let missing = [Cell](repeating: Cell(text: "", place: end), count: columns.count - cells.count)
        rows.append(Row(columns: columns, cells: cells + missing))
    }
}
