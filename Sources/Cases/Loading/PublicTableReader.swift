/// Reads a table of public test cases: `public-tests/gatt.tsv`.
struct PublicTableReader {
    private enum Column: String, CaseIterable {
        case id, role, bench, shown, cases, missing, basis
    }

    /// The columns of a table; a list has only the ids.
    private static let tableColumns: [Column] = [.id, .role, .bench, .shown, .cases, .missing]

    private(set) var rows: [PublicTest] = []
    private(set) var problems: [Problem] = []
    private let suite: String
    private let table: TabTable

    init(file: String) {
        suite = Catalogue.stem(file, ending: ".tsv")
        table = TabTable(file: file, known: Column.allCases.map(\.rawValue))
    }

    mutating func read() {
        problems = table.problems
        guard !table.columns.isEmpty, hasItsColumns() else { return }
        for row in table.rows { read(row) }
    }

    private mutating func report(_ place: Position, _ text: String) { problems.append(Problem(place, text)) }

    private mutating func hasItsColumns() -> Bool {
        guard table.columns != [Column.id.rawValue] else { return true }
        let missing = Self.tableColumns.map(\.rawValue).filter { !table.columns.contains($0) }
        guard missing.isEmpty else {
            let all = Self.tableColumns.map(\.rawValue).joined(separator: ", ")
            report(table.head, "without the columns \(missing.joined(separator: ", ")): a table has \(all), and a list of ids has only id")
            return false
        }
        if table.revision.isEmpty { report(table.head, "a line above names the suite and its revision: # revision: GATT.TS.p30") }
        return true
    }

    // MARK: Rows

    private mutating func read(_ cells: TabTable.Row) {
        func cell(_ column: Column) -> TabTable.Cell? { cells[column.rawValue] }
        guard let id = cell(.id) else { return }
        guard !id.text.isEmpty, !id.text.contains(" ") else { return report(id.place, "an id is one word, such as SM/PER/JW/BV-02-C") }
        var row = PublicTest(id: id.text, suite: suite, position: id.place)
        row.revision = table.revision
        row.role = cell(.role)?.text ?? ""
        row.cases = cell(.cases)?.list ?? []
        row.missing = cell(.missing)?.text ?? ""
        if let basis = cell(.basis), !basis.text.isEmpty {
            guard let value = PublicTest.Basis(rawValue: basis.text) else {
                return report(basis.place, "unknown basis '\(basis.text)': use read or title")
            }
            row.basis = value
        }
        if let shown = cell(.shown), let bench = cell(.bench), let missing = cell(.missing), let cases = cell(.cases) {
            (row.placeOfShown, row.placeOfCases) = (shown.place, cases.place)
            readBench(bench, &row)
            readShown(shown, &row)
            checkCases(cases, of: row)
            checkMissing(missing, of: row)
        }
        rows.append(row)
    }

    private mutating func readBench(_ cell: TabTable.Cell, _ row: inout PublicTest) {
        row.bench = cell.text
        var rest = Substring(PublicTest.letters)
        let isOrdered = cell.text.allSatisfy { letter in
            guard let place = rest.firstIndex(of: letter) else { return false }
            rest = rest[rest.index(after: place)...]
            return true
        }
        guard row.bench != PublicTest.noBench, cell.text.isEmpty || !isOrdered else { return }
        report(cell.place, "'\(cell.text)' is not the letters of a bench: use D, B, P, A in this order, or -")
    }

    private mutating func readShown(_ cell: TabTable.Cell, _ row: inout PublicTest) {
        guard let shown = PublicTest.Shown(rawValue: cell.text) else {
            return report(cell.place, "unknown extent '\(cell.text)': use full, part, none, later or no")
        }
        row.shown = shown
        let hasBench = row.bench != PublicTest.noBench
        if shown == .no, hasBench { report(cell.place, "shown is 'no' only where bench is '-'") }
        if !hasBench, shown != .no, shown != .later { report(cell.place, "bench is '-', so shown is 'no' or 'later'") }
    }

    private mutating func checkCases(_ cell: TabTable.Cell, of row: PublicTest) {
        guard let shown = row.shown else { return }
        if shown.needsCases, row.cases.isEmpty { report(cell.place, "shown is '\(shown.rawValue)', so a case must cover \(row.id)") }
        if !shown.allowsCases, !row.cases.isEmpty { report(cell.place, "shown is '\(shown.rawValue)', so no case can cover \(row.id)") }
        for (index, name) in row.cases.enumerated() where row.cases[..<index].contains(name) {
            report(cell.place, "'\(name)' is there twice")
        }
    }

    private mutating func checkMissing(_ cell: TabTable.Cell, of row: PublicTest) {
        guard let shown = row.shown else { return }
        if shown == .full, !row.missing.isEmpty { report(cell.place, "shown is 'full', so nothing is missing") }
        if shown != .full, row.missing.isEmpty {
            report(cell.place, "shown is '\(shown.rawValue)', so this column says what is missing or why")
        }
    }
}
