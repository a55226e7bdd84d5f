import BBCases

/// The public test-case ids that cases name in `covers:`, for those who qualify a product.
public struct PublicCoverage: Sendable {
    public struct Row: Sendable, Hashable {
        public var id: String
        /// True if one of the cases checks all of it.
        public var isFull: Bool
        /// The case files that name the id, sorted.
        public var cases: [String]
    }

    public let rows: [Row]
    /// The number of ids that `covers:` may name.
    public let known: Int

    /// - Parameter known: the list of public ids.
    public init(_ catalogue: Catalogue, known: Set<String>) {
        var full: Set<String> = []
        var cases: [String: Set<String>] = [:]
        for testCase in catalogue.cases {
            for cover in testCase.covers {
                cases[cover.id, default: []].insert(testCase.file)
                if cover.isFull { full.insert(cover.id) }
            }
        }
        rows = cases.sorted { $0.key < $1.key }.map { Row(id: $0.key, isFull: full.contains($0.key), cases: $0.value.sorted()) }
        self.known = known.count
    }

    /// The page of the guide.
    public var page: String {
        var lines = [
            "# Public test-case ids", "",
            "Ids of public catalogues and the cases that name them in `covers:`. *Full*: a case checks all that the",
            "title of the id says. *Partial*: it checks a part. `bluebench run --covers ID` runs the cases of an id;",
            "JUnit, JSON and the HTML report have the ids of each case. `bluebench check --coverage` writes this page.", "",
            "\(rows.count) of \(known) known ids, \(rows.count(where: \.isFull)) in full.", "",
        ]
        var suite = ""
        for row in rows {
            let own = String(row.id.prefix { $0 != "/" })
            if own != suite {
                if !suite.isEmpty { lines.append("") }
                lines += ["## \(own)", "| id | covered | cases |", "|---|---|---|"]
                suite = own
            }
            lines.append("| \(row.id) | \(row.isFull ? "full" : "partial") | \(Self.text(row.cases)) |")
        }
        return lines.joined(separator: "\n") + "\n"
    }

    private static let mostNamed = 1

    private static func text(_ cases: [String]) -> String {
        let named = cases.prefix(mostNamed).joined(separator: ", ")
        return cases.count > mostNamed ? named + " and \(cases.count - mostNamed) more" : named
    }
}
