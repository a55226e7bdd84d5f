import BBConformance
import Foundation
import Testing

@testable import BBCases
@testable import BBReport

/// The results of a run by public test case.
struct PublicReportTests {
    private static func result(_ id: String, _ verdict: Verdict, full: [String] = [], part: [String] = [], lacks: [String] = [])
        -> CaseResult
    {
        var result = CaseResult(id: id, title: "", verdict: verdict)
        (result.covers, result.partialCovers, result.lacks) = (full, part, lacks)
        return result
    }

    private static var run: RunResult {
        var run = RunResult(seed: 1, tester: "virtual", subject: "virtual")
        run.cases = [
            result("a/all[n=1]", .pass, full: ["T/1"], part: ["T/2"]), result("a/all[n=2]", .pass, full: ["T/1"], part: ["T/2"]),
            result("a/bad", .fail, part: ["T/2"]), result("a/none", .notApplicable, full: ["T/3"], lacks: ["subject.LE_2M_PHY"]),
            result("a/own", .pass, full: ["REQ, \"1\"", "T/4"]),
        ]
        return run
    }

    private static func rows(_ applicability: ((String) -> Applicability)? = nil) throws -> [String: PublicReport.Row] {
        let report = PublicReport(["T/1", "T/2", "T/3", "T/4", "T/5"], run, statement: "product.txt", applicability: applicability)
        return Dictionary(uniqueKeysWithValues: report.rows.map { ($0.id, $0) })
    }

    @Test(arguments: [
        ("T/1", "PASS", "full", "a/all PASS full"), ("T/2", "FAIL", "part", "a/all PASS part, a/bad FAIL part"),
        ("T/3", "N/A", "", "a/none N/A full"),
        ("T/4", "PASS", "full", "a/own PASS full"), ("T/5", "no case", "", ""), ("REQ, \"1\"", "PASS", "full", "a/own PASS full"),
    ])
    func anIDHasTheWorstVerdict(_ id: String, _ verdict: String, _ extent: String, _ cases: String) throws {
        let row = try #require(try Self.rows()[id])
        #expect(row.verdict == verdict && row.extent == extent && row.applies.isEmpty)
        #expect(row.cases.map { "\($0.id) \($0.verdict) \($0.covers)" }.joined(separator: ", ") == cases)
    }

    /// A statement that contradicts the device is a finding.
    @Test func aStatementIsHeldAgainstTheDevice() throws {
        let rows = try Self.rows { id in
            switch id {
            case "T/3": .applies
            case "T/4": .denied("TSPC_T_1_4 is FALSE")
            case "T/2": .denied("TSPC_T_1_2 is FALSE")
            default: .open("TSPC_T_9_9")
            }
        }
        #expect(rows["T/3"]?.finding == "the statement declares it, and the device lacks subject.LE_2M_PHY")
        #expect(rows["T/4"]?.finding == "the statement rules it out (TSPC_T_1_4 is FALSE), and the device passes it")
        #expect(rows["T/4"]?.verdict == "N/A" && rows["T/2"]?.verdict == "N/A" && rows["T/2"]?.finding == "")
        #expect(rows["T/1"]?.applies == "open" && rows["T/1"]?.items == "TSPC_T_9_9" && rows["T/1"]?.verdict == "PASS")
    }

    @Test func theDocumentsHaveAllRows() throws {
        let report = PublicReport(["T/1", "T/2"], Self.run)
        let lines = report.csv.components(separatedBy: "\r\n")
        #expect(lines[0] == "id,suite,revision,role,verdict,extent,cases,missing,applies,items,finding")
        #expect(lines[1] == "T/1,,,,PASS,full,a/all PASS,,,,")
        #expect(lines[2] == "T/2,,,,FAIL,part,a/all PASS (part); a/bad FAIL (part),,,,")
        #expect(lines[3] == "\"REQ, \"\"1\"\"\",,,,PASS,full,a/own PASS,,,,")
        let root = try #require(try JSONSerialization.jsonObject(with: Data(report.json().utf8)) as? [String: Any])
        let tests = try #require(root["tests"] as? [[String: Any]])
        #expect(root["format"] as? Int == 1 && tests.count == report.rows.count && tests[1]["verdict"] as? String == "FAIL")
    }

    /// An expected failure needs no attention, and its reason is told.
    @Test func anExpectedFailureIsToldWithItsReason() throws {
        var run = Self.run
        run.expectedFailures = [ExpectedFailure(id: "T/2", reason: "until <1.4>", cases: ["a/bad", "a/all[n=1]"])]
        let page = try HTMLPage(run).text()
        #expect(
            page.contains("an expected failure: until &lt;1.4&gt;") && page.contains("Passed") && !page.contains("What needs attention"))
        let junit = JUnit.text(run)
        #expect(junit.contains("expected failure: until &lt;1.4&gt;") && !junit.contains("<failure") && junit.contains(#"failures="0""#))
        #expect(MarkdownSummary(run).text.contains("### Expected failures"))
        let read = try ResultsJSON.read(Data(try ResultsJSON.text(run).utf8)).result
        #expect(read.expectedFailures == run.expectedFailures && read.cases.map(\.lacks) == run.cases.map(\.lacks))
    }

    @Test func aMissingFailureIsTold() throws {
        var run = Self.run
        run.cases[2].verdict = .pass
        run.expectedFailures = [ExpectedFailure(id: "a/bad", reason: "known", cases: ["a/bad"])]
        #expect(try HTMLPage(run).text().contains("1 expected failure is missing"))
        #expect(MarkdownSummary(run).text.contains("`a/bad` passes, although a failure is expected: known."))
    }
}
