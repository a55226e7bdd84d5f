import Foundation

/// Reads a table of public test cases, separated by tabs: `public-tests/gatt.tsv`.
struct PublicTableReader {
    private enum Column: String, CaseIterable {
        case id, role, bench, shown, cases, missing, basis
    }

    /// A value with the offset of its first octet in the line.
    private struct Cell {
        var text: Substring
        var offset: Int
    }

    /// The columns of a table; a list has only the ids.
    private static let tableColumns: [Column] = [.id, .role, .bench, .shown, .cases, .missing]
    private static let revisionMark = "# revision:"

    private(set) var rows: [PublicTest] = []
    private(set) var problems: [Problem] = []
    private let file: String
    private let suite: String
    private var revision = ""
    private var columns: [Column] = []
    private var line = 0

    init(file: String) {
        self.file = file
        suite = file.split(separator: "/").last.map { String($0.prefix { $0 != "." }) } ?? file
    }

    mutating func read() {
        guard let data = FileManager.default.contents(atPath: file) else {
            (line, problems) = (1, [Problem(Position(file: file, line: 1, column: 1), "the table cannot be read")])
            return
        }
        read(String(decoding: data, as: UTF8.self))
    }

    mutating func read(_ text: String) {
        for octets in text.utf8.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
            line += 1
            let content = Substring(octets.last == UInt8(ascii: "\r") ? octets.dropLast() : octets)
            if content.utf8.first == UInt8(ascii: "#") {
                if content.hasPrefix(Self.revisionMark) {
                    revision = content.dropFirst(Self.revisionMark.count).split(separator: " ").joined(separator: " ")
                }
            } else if !content.isEmpty {
                let cells = Self.cells(of: content)
                if columns.isEmpty { header(cells) } else { row(cells) }
                // Without its columns the rest has no meaning.
                if columns.isEmpty { return }
            }
        }
        if columns.isEmpty { report(0, "the table is empty: its first line names the columns, such as id") }
    }

    private static func cells(of line: Substring) -> [Cell] {
        var offset = 0
        return line.utf8.split(separator: UInt8(ascii: "\t"), omittingEmptySubsequences: false).map { octets in
            defer { offset += octets.count + 1 }
            return Cell(text: Substring(octets), offset: offset)
        }
    }

    private mutating func report(_ offset: Int, _ text: String) {
        problems.append(Problem(place(offset), text))
    }

    private func place(_ offset: Int) -> Position { Position(file: file, line: line, column: offset + 1) }

    // MARK: Columns

    private mutating func header(_ cells: [Cell]) {
        var found: [Column] = []
        for cell in cells {
            guard let column = Column(rawValue: String(cell.text)) else {
                report(
                    cell.offset,
                    "unknown column '\(cell.text)'" + Suggestion.text(for: String(cell.text), among: Column.allCases.map(\.rawValue)))
                return
            }
            guard !found.contains(column) else { return report(cell.offset, "the column '\(cell.text)' is there twice") }
            found.append(column)
        }
        let missing = Self.tableColumns.filter { !found.contains($0) }.map(\.rawValue)
        guard missing.isEmpty || found == [.id] else {
            let all = Self.tableColumns.map(\.rawValue).joined(separator: ", ")
            return report(0, "without the columns \(missing.joined(separator: ", ")): a table has \(all), and a list of ids has only id")
        }
        if found != [.id], revision.isEmpty { report(0, "a line above names the suite and its revision: # revision: GATT.TS.p30") }
        columns = found
    }

    // MARK: Rows

    private mutating func row(_ cells: [Cell]) {
        guard cells.count <= columns.count else {
            return report(cells[columns.count].offset, "\(cells.count) cells for \(columns.count) columns")
        }
        // Editors remove the tabs before an empty last cell.
        let end = cells.last.map { $0.offset + $0.text.utf8.count } ?? 0
        func cell(_ column: Column) -> Cell? {
            columns.firstIndex(of: column).map { $0 < cells.count ? cells[$0] : Cell(text: "", offset: end) }
        }
        guard let id = cell(.id) else { return }
        guard !id.text.isEmpty, !id.text.contains(" ") else { return report(id.offset, "an id is one word, such as SM/PER/JW/BV-02-C") }
        var row = PublicTest(id: String(id.text), suite: suite, position: place(id.offset))
        row.revision = revision
        if let role = cell(.role) { row.role = String(role.text) }
        if let cases = cell(.cases), !cases.text.isEmpty {
            row.cases = cases.text.split(separator: ",").map { $0.split(separator: " ").joined(separator: " ") }
        }
        if let missing = cell(.missing) { row.missing = String(missing.text) }
        if let basis = cell(.basis), !basis.text.isEmpty {
            guard let value = PublicTest.Basis(rawValue: String(basis.text)) else {
                return report(basis.offset, "unknown basis '\(basis.text)': use read or title")
            }
            row.basis = value
        }
        guard let shown = cell(.shown), let bench = cell(.bench), let missing = cell(.missing), let cases = cell(.cases) else {
            return rows.append(row)
        }
        (row.placeOfShown, row.placeOfCases) = (place(shown.offset), place(cases.offset))
        readBench(bench, &row)
        readShown(shown, &row)
        checkCases(cases, of: row)
        checkMissing(missing, of: row)
        rows.append(row)
    }

    private mutating func readBench(_ cell: Cell, _ row: inout PublicTest) {
        row.bench = String(cell.text)
        var rest = Substring(PublicTest.letters)
        let isOrdered = cell.text.allSatisfy { letter in
            guard let place = rest.firstIndex(of: letter) else { return false }
            rest = rest[rest.index(after: place)...]
            return true
        }
        guard row.bench != PublicTest.noBench, cell.text.isEmpty || !isOrdered else { return }
        report(cell.offset, "'\(cell.text)' is not the letters of a bench: use D, B, P, A in this order, or -")
    }

    private mutating func readShown(_ cell: Cell, _ row: inout PublicTest) {
        guard let shown = PublicTest.Shown(rawValue: String(cell.text)) else {
            return report(cell.offset, "unknown extent '\(cell.text)': use full, part, none, later or no")
        }
        row.shown = shown
        let hasBench = row.bench != PublicTest.noBench
        if shown == .no, hasBench { report(cell.offset, "shown is 'no' only where bench is '-'") }
        if !hasBench, shown != .no, shown != .later { report(cell.offset, "bench is '-', so shown is 'no' or 'later'") }
    }

    private mutating func checkCases(_ cell: Cell, of row: PublicTest) {
        guard let shown = row.shown else { return }
        if shown.needsCases, row.cases.isEmpty { report(cell.offset, "shown is '\(shown.rawValue)', so a case must cover \(row.id)") }
        if !shown.allowsCases, !row.cases.isEmpty { report(cell.offset, "shown is '\(shown.rawValue)', so no case can cover \(row.id)") }
        for (index, name) in row.cases.enumerated() where row.cases[..<index].contains(name) {
            report(cell.offset, "'\(name)' is there twice")
        }
    }

    private mutating func checkMissing(_ cell: Cell, of row: PublicTest) {
        guard let shown = row.shown else { return }
        if shown == .full, !row.missing.isEmpty { report(cell.offset, "shown is 'full', so nothing is missing") }
        if shown != .full, row.missing.isEmpty {
            report(cell.offset, "shown is '\(shown.rawValue)', so this column says what is missing or why")
        }
    }
}
