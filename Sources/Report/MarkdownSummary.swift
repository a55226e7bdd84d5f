import BBConformance
import BBPackets

/// A run as a summary for the job page of a CI service: counts, and each case that needs attention.
public struct MarkdownSummary {
    private let result: RunResult
    private let facts: RunFacts
    /// Maximum number of rows on a job page.
    private static let mostRows = 50
    private static let mostLogs = 10
    private static let mostLogLines = 20

    public init(_ result: RunResult, about facts: RunFacts = RunFacts()) { (self.result, self.facts) = (result, facts) }

    public var text: String {
        let counts = Verdict.allCases.filter { result.count($0) > 0 }.map { "\(result.count($0)) \($0.rawValue)" }
        var lines = ["## \(headline)", "", counts.isEmpty ? "No case ran." : counts.joined(separator: ", ") + ".", ""]
        lines += table("Cases that need attention", result.cases.filter(needsAttention)) { Self.cell($0.message) }
        lines += logs
        lines += table("Expected failures", result.cases.filter(result.isExpected)) { testCase in
            Self.cell(result.expectation(of: testCase)?.reason ?? "")
        }
        lines += result.unexpectedPasses.flatMap { expected in
            ["`\(Self.plain(expected.id))` passes, although a failure is expected: \(Self.cell(expected.reason)).", ""]
        }
        lines += table("Flaky: passed only when run again", result.cases.filter(\.isFlaky)) { testCase in
            Self.cell(testCase.flakyAttempt.map { "\($0.verdict.rawValue) first: \($0.message)" } ?? "")
        }
        let open = result.cases.count(where: \.isNotRun)
        if open > 0 { lines += ["\(open) case\(open == 1 ? " was" : "s were") not run: \(Self.cell(result.ending ?? "")).", ""] }
        if let others = result.product?.notRun { lines += ["Not run: \(Self.cell(others)).", ""] }
        let place = [facts.host.isEmpty ? nil : "on \(facts.host)", facts.version.isEmpty ? nil : "bluebench \(facts.version)"]
        let subject = result.product.map { "product \($0.line)" } ?? "subject `\(result.subject)`"
        let run = ["tester `\(result.tester)`", subject, "seed \(result.seed)"] + place.compactMap(\.self)
        let labels = result.labels.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }
        lines.append(Self.plain((run + labels + (result.shard.map { ["shard \($0)"] } ?? [])).joined(separator: ", ")))
        return lines.joined(separator: "\n") + "\n"
    }

    private var headline: String {
        let headline = Headline(result)
        return result.flakyCount == 0 || headline.namesFlaky ? headline.text : headline.text + ", \(result.flakyCount) flaky"
    }

    /// The last lines of the product's log in the first cases that need attention.
    private var logs: [String] {
        let cases = result.cases.filter { needsAttention($0) && $0.log?.lines.isEmpty == false }.sorted { $0.id < $1.id }
        return cases.prefix(Self.mostLogs).flatMap { testCase in
            let lines = (testCase.log?.lines.suffix(Self.mostLogLines) ?? []).map { line in
                let text = line.text.replacing("```", with: "'''")
                return "\(JUnit.decimal(line.milliseconds, places: 1)) ms  \(text)"
            }
            return ["The product's log in `\(Self.plain(testCase.id))`:", "", "```"] + lines + ["```", ""]
        }
    }

    private func needsAttention(_ testCase: CaseResult) -> Bool {
        !testCase.isNotRun && !result.isExpected(testCase) && testCase.verdict != .pass && testCase.verdict != .notApplicable
    }

    private func table(_ title: String, _ cases: [CaseResult], _ remark: (CaseResult) -> String) -> [String] {
        guard !cases.isEmpty else { return [] }
        let rows = cases.sorted { $0.id < $1.id }.prefix(Self.mostRows).map { testCase in
            let packets = testCase.evidence.map(\.packet).filter { $0 > 0 }.map(String.init).joined(separator: ", ")
            return "| \(testCase.verdict.rawValue) | `\(Self.plain(testCase.id))` | \(remark(testCase)) | \(packets) |"
        }
        let rest = cases.count > rows.count ? ["", "and \(cases.count - rows.count) more"] : []
        return ["### \(title)", "", "| verdict | case | what | packets |", "|---|---|---|---|"] + rows + rest + [""]
    }

    private static func cell(_ text: String) -> String { MarkdownText.cell(text) }
    private static func plain(_ text: String) -> String { MarkdownText.plain(text) }
}
