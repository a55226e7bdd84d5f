import BBConformance
import BBPackets
import BBThroughput

/// A run as a self-contained HTML page: cases that need attention, each case with steps and packets, throughput with its ceiling, and
/// coverage. Readable without its script, which only filters.
public struct HTMLPage {
    public var result: RunResult
    public var throughput: [ThroughputBar]
    public var run: RunFacts
    /// Earlier runs for comparison.
    public var earlier: EarlierRuns
    /// The results by public test case.
    public var publicReport: PublicReport

    /// Maximum number of ladder rows for all passed cases together.
    static let mostRowsOfPassed = 4_000

    public init(
        _ result: RunResult, throughput: [ThroughputBar] = [], about run: RunFacts = RunFacts(),
        comparedWith earlier: EarlierRuns = EarlierRuns(), publicReport: PublicReport? = nil
    ) {
        self.publicReport = publicReport ?? PublicReport(result)
        self.result = result
        self.throughput = throughput
        self.run = run
        self.earlier = earlier
    }

    public func text() throws -> String { try PageFiles.render("page", page) }

    private var page: [String: Any] {
        let headline = Headline(result)
        var page: [String: Any] = [
            "verdict": headline.text, "verdictClass": headline.style, "pageTitle": headline.text, "style": PageFiles.style,
            "script": PageFiles.script,
            "hasDate": !run.date.isEmpty, "date": run.date.replacing("T", with: " ") + " UTC",
            "facts": RunSheet(result, run, comparedWith: earlier).facts, "devices": RunSheet(result, run).devices,
            "hasDevices": !RunSheet(result, run).devices.isEmpty,
            "hasNotRun": result.product?.notRun != nil, "notRun": PlainText.escaped(result.product?.notRun ?? ""),
            "tiles": tiles, "share": VerdictShare.svg(result), "parts": parts,
        ]
        let attention = Attention(result).groups
        page["attention"] = attention
        page["hasAttention"] = !attention.isEmpty
        addCases(to: &page)
        page.merge(ThroughputSection(throughput).fields) { $1 }
        if let commands = result.scorecard.map(CommandSheet.init) {
            page["hasCommands"] = true
            page["commandsLine"] = commands.line
            page["commandsCount"] = commands.scorecard.rows.count
            page["commands"] = commands.html()
        }
        let coverage = Coverage(result, publicReport)
        page["hasCoverage"] = coverage.count > 0
        page["coverageCount"] = coverage.count
        page["coverageLine"] = coverage.line
        page["coverage"] = coverage.html()
        return page
    }

    private var parts: [[String: Any]] {
        var parts: [(String, String)] = []
        if result.cases.contains(where: { $0.needsAttention && !result.isExpected($0) }) {
            parts.append(("attention", "What needs attention"))
        }
        parts.append(("cases", "Cases"))
        if !throughput.isEmpty { parts.append(("throughput", "Throughput")) }
        if result.scorecard != nil { parts.append(("commands", "Commands")) }
        if publicReport.rows.contains(where: \.isShown) { parts.append(("coverage", "Coverage")) }
        return parts.map { ["id": $0.0, "name": $0.1] }
    }

    private var tiles: [[String: Any]] {
        Verdict.allCases.map { verdict in
            [
                "name": verdict.rawValue, "class": Markup.cssClass(verdict), "count": result.count(verdict),
                "isZero": result.count(verdict) == 0,
            ]
        }
    }

    // MARK: Cases

    private func addCases(to page: inout [String: Any]) {
        let suites = JUnit.suites(of: result.cases)
        var room = Self.mostRowsOfPassed
        page["suites"] = suites.map { suite -> [String: Any] in
            [
                "name": suite.name, "passed": suite.cases.count { $0.verdict == .pass }, "total": suite.cases.count,
                "isOpen": suite.cases.contains(where: \.needsAttention),
                "cases": suite.cases.map { part($0, &room) }.joined(),
            ]
        }
        let tags = Set(result.cases.flatMap(\.about.tags)).sorted()
        page["suiteNames"] = suites.map(\.name)
        page["tags"] = tags
        page["hasTags"] = !tags.isEmpty
        page["verdicts"] = tiles.filter { $0["isZero"] as? Bool == false }
    }

    private func part(_ testCase: CaseResult, _ room: inout Int) -> String {
        var part = CasePart(result: testCase, run: result, options: run.again)
        (part.earlier, part.facts) = (earlier, run)
        let rows = testCase.trace?.packets.count ?? 0
        part.showsLadder = rows <= Ladder.mostOfPassed && rows <= room
        if testCase.verdict == .pass, part.showsLadder { room -= rows }
        return part.html()
    }

}

extension CaseResult {
    /// The verdict is neither PASS nor N/A.
    var needsAttention: Bool { verdict != .pass && verdict != .notApplicable }
}
