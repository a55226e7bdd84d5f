import BBCases

/// The page of the guide about the public test suites: each test case, and the cases that show it.
public struct PublicCoverage: Sendable {
    private let tests: PublicTests

    /// - Parameter tests: the tables beside the cases, which loading the cases has compared with them.
    public init(_ tests: PublicTests) { self.tests = tests }

    public var page: String {
        var lines = [
            "# Public test cases", "",
            "The public test suites of the Bluetooth SIG, test case by test case, and the cases here that show them.",
            "The tables are in `Conformance/public-tests`; `bluebench check` compares them with `covers:` of each",
            "case, and `bluebench check --coverage` writes this page. `bluebench run --covers ID` runs the cases of an",
            "id. JUnit, JSON and the HTML report have the ids of each case.", "",
        ]
        lines += legend + overview
        for suite in tests.suites { lines += section(suite.name, suite.rows) }
        return lines.joined(separator: "\n") + "\n"
    }

    private var legend: [String] {
        [
            "| column | value | meaning |", "|---|---|---|",
            "| by | D, B, P, A | two dongles; a host through [BTP](btp.md); a product over the air; the simulated air |",
            "| shown | full, part | a case brings the same occasion about and judges by the same verdict; in part |",
            "| | none | no case does |", "| | later | it needs features that the bench lacks today |", "| | no | no bench can show it |",
            "",
        ]
    }

    private var overview: [String] {
        let extents = PublicTest.Shown.allCases
        let head = ["suite", "revision", "test cases"] + extents.map(\.rawValue)
        func row(_ name: String, _ revision: String, _ rows: [PublicTest]) -> String {
            let counts = [rows.count] + extents.map { extent in rows.count { $0.shown == extent } }
            return "| " + ([name, revision] + counts.map(String.init)).joined(separator: " | ") + " |"
        }
        let suites = tests.suites.map { row("[\($0.name)](#\($0.name))", $0.rows.first?.revision ?? "", $0.rows) }
        return ["| " + head.joined(separator: " | ") + " |", "|" + String(repeating: "---|", count: head.count)] + suites
            + [row("together", "", tests.rows), ""]
    }

    private func section(_ name: String, _ rows: [PublicTest]) -> [String] {
        let isByTitle = rows.contains { $0.basis == .title }
        return ["## \(name)"]
            + (isByTitle ? ["Rows marked *by title*: the suite's text was not read, so only the titles are compared.", ""] : [])
            + ["| id | role | by | shown | cases | missing |", "|---|---|---|---|---|---|"] + rows.flatMap(Self.lines) + [""]
    }

    /// The row of a test case. A long text continues in rows below it.
    private static func lines(_ row: PublicTest) -> [String] {
        let shown = (row.shown?.rawValue ?? "") + (row.basis == .title ? ", by title" : "")
        var rows: [String] = []
        var text = "| " + [row.id, row.role, row.bench, shown, Self.text(row.cases)].joined(separator: " | ") + " | "
        for word in row.missing.replacing("|", with: "\\|").split(separator: " ") {
            if text.count + word.count > longest {
                rows.append(text + "|")
                text = "| | | | | | "
            }
            text += word + " "
        }
        return rows + [text + "|"]
    }

    /// The length of a line without its last bar.
    private static let longest = 116

    private static let mostNamed = 1

    private static func text(_ cases: [String]) -> String {
        let named = cases.prefix(mostNamed).joined(separator: ", ")
        return cases.count > mostNamed ? named + " and \(cases.count - mostNamed) more" : named
    }
}
