/// The items of a conformance statement that make a public test case applicable: `public-tests/ics/SUITE.tsv`, from the mapping tables of the
/// public test suites.
public struct PublicTestItems: Sendable {
    static let folder = PublicTests.folder + "/ics"
    private static let columns = ["items", "ids"]

    private var conditions: [String: Requirement] = [:]

    public init() {}

    /// Reads the tables of a folder of cases.
    ///
    /// - Parameter tests: the test cases that the tables may name.
    /// - Throws: `Problems` for a condition with a mistake, or an id that no table of tests has.
    public static func load(_ folder: String, for tests: PublicTests) throws(Problems) -> PublicTestItems {
        var items = PublicTestItems()
        var problems: [Problem] = []
        let place = folder + "/" + Self.folder
        for file in Catalogue.files(below: place) where file.hasSuffix(".tsv") {
            let table = TabTable(file: place + "/" + file, known: Self.columns)
            problems += table.problems
            if !table.columns.isEmpty, table.columns.count < Self.columns.count {
                problems.append(Problem(table.head, "the columns are \(Self.columns.joined(separator: ", "))"))
            }
            for row in table.rows { items.read(row, tests, &problems) }
        }
        guard problems.isEmpty else { throw Problems(problems) }
        return items
    }

    /// The condition of a test case; nil if the tables do not have it. Of several rows one must hold.
    subscript(id: String) -> Requirement? { conditions[id] }

    private mutating func read(_ row: TabTable.Row, _ tests: PublicTests, _ problems: inout [Problem]) {
        guard let items = row["items"], let ids = row["ids"], let condition = items.condition(&problems) else { return }
        for id in ids.list {
            if tests[id] == nil {
                problems.append(
                    Problem(ids.place, "no table has the public test case '\(id)'" + Suggestion.text(for: id, among: tests.ids)))
            }
            conditions[id] = conditions[id].map { .or($0, condition) } ?? condition
        }
    }
}

/// The statement about a public test case.
public enum Applicability: Sendable, Hashable {
    case applies
    /// The statement denies it, with the items that it lacks.
    case denied(String)
    /// The statement does not name these items, so it decides nothing.
    case open(String)
}

extension ConformanceStatement {
    /// Returns what the statement says about a public test case. An id that is named in it applies; with ids alone, no other does.
    public func applicability(of id: String, _ items: PublicTestItems) -> Applicability {
        if ids.contains(id) { return .applies }
        if self.items.isEmpty { return .denied("not in the list") }
        guard let condition = items[id] else { return .open("no item is known for it") }
        switch value(of: condition, { self[$0] }) {
        case true?: return .applies
        case false?: return .denied(reason(for: condition))
        case nil: return .open(condition.names.filter { self[$0] == nil }.joined(separator: ", "))
        }
    }

    /// The declaration of the maker about a condition; nil if items that decide it are not in the statement.
    func declares(_ condition: Requirement) -> Bool? { value(of: condition) { declared($0) } }

    /// The value of a condition; nil if items that decide it have none.
    private func value(of condition: Requirement, _ item: (String) -> Bool?) -> Bool? {
        switch condition {
        case .feature(let name): return item(name)
        case .not(let inner): return value(of: inner, item).map(!)
        case .and(let one, let other):
            let values = [value(of: one, item), value(of: other, item)]
            return values.contains(false) ? false : values.contains(nil) ? nil : true
        case .or(let one, let other):
            let values = [value(of: one, item), value(of: other, item)]
            return values.contains(true) ? true : values.contains(nil) ? nil : false
        }
    }

    /// The items whose values make a condition false: `TSPC_GATT_3_1 is FALSE`.
    private func reason(for condition: Requirement) -> String {
        switch condition {
        case .feature(let item): return "\(item) is FALSE"
        case .not(let inner): return inner.names.filter { self[$0] == true }.map { "\($0) is TRUE" }.joined(separator: ", ")
        case .and(let one, let other):
            return [one, other].filter { value(of: $0) { self[$0] } == false }.map { reason(for: $0) }.joined(separator: ", ")
        case .or(let one, let other): return reason(for: one) + ", " + reason(for: other)
        }
    }
}
