import BBCases
import BBConformance

/// The results of a run by public test case.
public struct PublicReport: Sendable {
    /// A case file that covers a test case.
    public struct Case: Sendable, Hashable, Encodable {
        public var id: String
        public var verdict: String
        /// `full` or `part`.
        public var covers: String
    }

    /// A public test case with what the run showed of it.
    public struct Row: Sendable, Hashable, Encodable {
        public var id: String
        /// The name of the suite's table; empty for an id of the user.
        public var suite: String
        public var revision: String
        public var role: String
        /// A verdict, `not run` or `no case`.
        public var verdict: String
        /// `full` if a case that shows all of it ran, `part` if others did; empty if none.
        public var extent: String
        public var cases: [Case]
        public var missing: String
        /// `yes`, `no`, `open`; empty without a conformance statement.
        public var applies: String
        /// The items that rule it out, or that the statement does not name.
        public var items: String
        /// A contradiction between the statement and what the device does.
        public var finding: String

        /// True if the page of the run shows the row: a case ran, or the statement demands it.
        var isShown: Bool { !cases.isEmpty || applies == "yes" || !finding.isEmpty }
    }

    public let rows: [Row]
    /// The name of the conformance statement; nil without one.
    public let statement: String?

    /// - Parameters:
    ///   - tests: the tables; ids of the user that they lack have rows at the end.
    ///   - applicability: what a conformance statement says about an id; nil without one.
    public init(
        _ tests: PublicTests, _ result: RunResult, statement: String? = nil, applicability: ((String) -> Applicability)? = nil
    ) {
        self.statement = statement
        let covering = Self.covering(result)
        let others = covering.keys.filter { tests[$0] == nil }.sorted()
        func row(_ id: String, _ test: PublicTest?) -> Row {
            Self.row(id, test, covering[id] ?? [], applicability?(id))
        }
        rows = tests.rows.map { row($0.id, $0) } + others.map { row($0, nil) }
    }

    /// Creates the report of a run without tables.
    public init(_ result: RunResult) { self.init([], result) }

    // MARK: Rows

    /// A result with the extent in which it covers an id.
    private struct Covering {
        var result: CaseResult
        var isFull: Bool
    }

    private static func covering(_ result: RunResult) -> [String: [Covering]] {
        var covering: [String: [Covering]] = [:]
        for testCase in result.cases {
            for id in testCase.covers { covering[id, default: []].append(Covering(result: testCase, isFull: true)) }
            for id in testCase.partialCovers { covering[id, default: []].append(Covering(result: testCase, isFull: false)) }
        }
        return covering
    }

    private static func row(_ id: String, _ test: PublicTest?, _ covering: [Covering], _ applicability: Applicability?) -> Row {
        let ran = covering.filter { !$0.result.isNotRun }
        let judged = ran.filter { $0.result.verdict != .notApplicable }
        var row = Row(
            id: id, suite: test?.suite ?? "", revision: test?.revision ?? "", role: test?.role ?? "", verdict: "", extent: "",
            cases: cases(of: ran), missing: test?.missing ?? "", applies: "", items: "", finding: "")
        if !judged.isEmpty { row.extent = judged.contains(where: \.isFull) ? "full" : "part" }
        let hasCases = !covering.isEmpty || test?.cases.isEmpty == false
        row.verdict = worst(of: ran.map(\.result))?.rawValue ?? (hasCases ? "not run" : "no case")
        switch applicability {
        case nil: break
        case .applies?:
            row.applies = "yes"
            let lacks = ran.flatMap(\.result.lacks).filter { $0.hasPrefix("subject.") || $0.hasPrefix("device.") }
            if judged.isEmpty, let lacked = lacks.first { row.finding = "the statement declares it, and the device lacks \(lacked)" }
        case .open(let items)?: (row.applies, row.items) = ("open", items)
        case .denied(let items)?:
            (row.applies, row.items) = ("no", items)
            let passes = judged.contains { $0.isFull && $0.result.verdict == .pass }
            if passes { row.finding = "the statement rules it out (\(items)), and the device passes it" }
            row.verdict = Verdict.notApplicable.rawValue
        }
        return row
    }

    /// The case files with the most significant verdict of their rounds.
    private static func cases(of covering: [Covering]) -> [Case] {
        let files = Dictionary(grouping: covering) { String($0.result.id.prefix { $0 != "[" }) }
        return files.sorted { $0.key < $1.key }.map { file, rounds in
            let verdict = worst(of: rounds.map(\.result)) ?? .notApplicable
            return Case(id: file, verdict: verdict.rawValue, covers: rounds.contains(where: \.isFull) ? "full" : "part")
        }
    }

    /// The most significant verdict: FAIL before all others, PASS before N/A; nil without results.
    static func worst(of results: [CaseResult]) -> Verdict? {
        [.fail, .error, .inconclusive, .pass, .notApplicable].first { verdict in results.contains { $0.verdict == verdict } }
    }

    // MARK: Documents

    private struct Document: Encodable {
        var format = 1
        var statement: String?
        var tests: [Row]
    }

    public func json() throws -> String { try ResultsJSON.encode(Document(statement: statement, tests: rows)) }

    /// Comma-separated values (RFC 4180), with the names of the columns in the first line.
    public var csv: String {
        let head = ["id", "suite", "revision", "role", "verdict", "extent", "cases", "missing", "applies", "items", "finding"]
        let lines = rows.map { row in
            let cases = row.cases.map { "\($0.id) \($0.verdict)" + ($0.covers == "part" ? " (part)" : "") }.joined(separator: "; ")
            return [
                row.id, row.suite, row.revision, row.role, row.verdict, row.extent, cases, row.missing, row.applies, row.items, row.finding,
            ]
        }
        return ([head] + lines).map { $0.map(Self.cell).joined(separator: ",") + "\r\n" }.joined()
    }

    private static func cell(_ text: String) -> String {
        guard text.utf8.contains(where: { ",\"\r\n".utf8.contains($0) }) else { return text }
        return "\"" + text.replacing("\"", with: "\"\"") + "\""
    }
}
