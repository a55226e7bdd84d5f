/// A test case of a public test suite: a row of `public-tests/SUITE.tsv`.
public struct PublicTest: Sendable, Hashable {
    /// The extent to which cases show a public test case.
    public enum Shown: String, Sendable, Hashable, CaseIterable {
        /// A case shows all of it.
        case full
        case part
        case none
        /// It needs features that this bench lacks today.
        case later
        /// No bench can show it.
        case no

        /// True if cases cover the test case.
        var needsCases: Bool { self == .full || self == .part }
        /// True if a case may cover the test case.
        var allowsCases: Bool { needsCases || self == .later }
    }

    /// The source of the claims: the text of the suite, or only the titles of its test cases.
    public enum Basis: String, Sendable, Hashable, CaseIterable {
        case read
        case title
    }

    /// The letters of `bench` in order: two dongles, a host through its upper tester, a product over the air, the simulated air.
    public static let letters = "DBPA"
    /// The value of `bench` for a test case that no bench can show.
    public static let noBench = "-"

    public var id: String
    /// The name of the table: `gatt`.
    public var suite: String
    /// The document and its revision; empty in a list of ids.
    public var revision = ""
    /// The tested role in the document's terms: client, central.
    public var role = ""
    public var bench = ""
    /// Nil in a list of ids.
    public var shown: Shown?
    /// The ids of the case files that cover it.
    public var cases: [String] = []
    /// The parts that no case shows, or the reason why none can.
    public var missing = ""
    public var basis = Basis.read
    var position: Position
    var placeOfShown: Position
    var placeOfCases: Position

    init(id: String, suite: String = "", position: Position) {
        (self.id, self.suite, self.position) = (id, suite, position)
        (placeOfShown, placeOfCases) = (position, position)
    }
}

/// The tables of public test suites beside the cases of a folder.
public struct PublicTests: Sendable, ExpressibleByArrayLiteral {
    public static let folder = "public-tests"

    /// The rows in the order of the files.
    public private(set) var rows: [PublicTest] = []
    private var places: [String: Int] = [:]

    public init() {}

    /// Creates a list of ids.
    public init(arrayLiteral ids: String...) {
        for id in ids { _ = add(PublicTest(id: id, position: Position(file: "", line: 1, column: 1))) }
    }

    /// Reads `public-tests/*.tsv` of a folder of cases.
    ///
    /// - Returns: nil if there is no table.
    /// - Throws: `Problems` with the mistakes of all tables.
    public static func load(_ folder: String) throws(Problems) -> PublicTests? {
        let place = folder + "/" + Self.folder
        let files = Catalogue.files(below: place).filter { $0.hasSuffix(".tsv") && !$0.contains("/") }
        guard !files.isEmpty else { return nil }
        var tests = PublicTests()
        var problems: [Problem] = []
        for file in files {
            var reader = PublicTableReader(file: place + "/" + file)
            reader.read()
            problems += reader.problems
            for row in reader.rows {
                guard let first = tests.add(row) else { continue }
                problems.append(Problem(row.position, "\(row.id) is already in \(first.position.file):\(first.position.line)"))
            }
        }
        guard problems.isEmpty else { throw Problems(problems) }
        return tests
    }

    /// Adds the rows of other tables whose ids are not known yet.
    public mutating func add(_ others: PublicTests) {
        for row in others.rows { _ = add(row) }
    }

    /// Adds a row.
    ///
    /// - Returns: the row with the same id if there is one; then nothing is added.
    private mutating func add(_ row: PublicTest) -> PublicTest? {
        if let place = places[row.id] { return rows[place] }
        places[row.id] = rows.count
        rows.append(row)
        return nil
    }

    public subscript(id: String) -> PublicTest? { places[id].map { rows[$0] } }

    public var ids: [String] { rows.map(\.id) }

    /// The rows of each table, in the order of their names.
    public var suites: [(name: String, rows: [PublicTest])] {
        Dictionary(grouping: rows, by: \.suite).sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    }

    /// Returns the rows that differ from what the cases claim.
    func differences(from cases: [TestCase]) -> [Problem] {
        var claims: [String: [String: Bool]] = [:]
        for testCase in cases {
            for cover in testCase.covers {
                let isFull = claims[cover.id]?[testCase.file] ?? false
                claims[cover.id, default: [:]][testCase.file] = isFull || cover.isFull
            }
        }
        return rows.filter { $0.shown != nil }.compactMap { row in
            let claimed = claims[row.id] ?? [:]
            let (named, covering) = (Set(row.cases), Set(claimed.keys))
            guard named == covering else {
                let changes = [("add", covering.subtracting(named)), ("remove", named.subtracting(covering))].filter { !$0.1.isEmpty }
                let words = changes.map { "\($0.0) \($0.1.sorted().joined(separator: ", "))" }.joined(separator: "; ")
                return Problem(row.placeOfCases, "the cases that cover \(row.id) are others: \(words)")
            }
            guard row.shown == .full, !claimed.values.contains(true) else { return nil }
            return Problem(row.placeOfShown, "no case covers \(row.id) in full")
        }
    }
}
