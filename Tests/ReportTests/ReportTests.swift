import BBConformance
import Foundation
import Testing

@testable import BBReport

#if canImport(FoundationXML)
    import FoundationXML
#endif

struct ReportTests {
    static var run: RunResult {
        var run = RunResult(seed: 7, shuffle: 3, tester: "virtual", subject: "tcp:127.0.0.1:7001")
        var failed = CaseResult(id: "phy/central-asks-2m", title: "Title with <b>&\"quotes\"", verdict: .fail)
        failed.covers = ["LL/CON/CEN/BV-41-C"]
        failed.message = "expected LE_PHY_Update_Complete\nwithin 2 s, none came \u{1}"
        failed.evidence = [Evidence(packet: 17, side: "subject", text: "LE_Set_PHY", at: 1_250)]
        failed.capture = "capture-2.btsnoop"
        failed.notes = ["\u{1B}[31mteardown"]
        failed.failedStep = FailedStep(position: "Conformance/phy/x.yaml:9:5", step: "expect X", requirement: "PHY < 2M")
        var skipped = CaseResult(id: "dle/b", title: "", verdict: .notApplicable)
        skipped.message = "needs subject.LE_Coded_PHY"
        run.cases = [
            failed, CaseResult(id: "phy/a", title: "A", verdict: .pass), skipped, CaseResult(id: "dle/c", title: "C", verdict: .error),
            CaseResult(id: "dle/d", title: "D", verdict: .inconclusive),
        ]
        return run
    }

    @Test func jsonHasItsShape() throws {
        let text = try ResultsJSON.text(Self.run)
        let root = try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
        #expect(root["summary"] as? [String: Int] == ["pass": 1, "fail": 1, "inconc": 1, "na": 1, "error": 1])
        let first = try #require((root["cases"] as? [[String: Any]])?.first)
        #expect(first["id"] as? String == "phy/central-asks-2m")
        #expect(first["verdict"] as? String == "FAIL")
        #expect(first["covers"] as? [String] == ["LL/CON/CEN/BV-41-C"])
        for key in ["duration_ms", "virtual_ms", "evidence", "message"] { #expect(first[key] != nil) }
    }

    @Test func jsonSaysWhenWhereAndByWhatAndIsReadAgain() throws {
        var run = Self.run
        run.devices = [DeviceReport(side: "tester", device: "usb:1-1")]
        run.devices[0].numbers = .init(vendor: 0x0A12, product: 1, hciVersion: 6, lmpVersion: 6, company: 10)
        let text = try ResultsJSON.text(run, about: Self.facts)
        let root = try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
        let fields = try #require(root["run"] as? [String: Any])
        #expect(fields["date"] as? String == "2026-11-22T01:17:16" && fields["host"] as? String == "bench-<1>")
        #expect(fields["build"] as? String == "0.1.0")
        let device = try #require((fields["devices"] as? [[String: Any]])?.first?["numbers"] as? [String: Any])
        #expect(device["usb"] as? String == "0a12:0001" && device["company"] as? Int == 10)
        let again = try ResultsJSON.read(Data(text.utf8))
        #expect(try ResultsJSON.text(again.result, about: again.facts) == text)
    }

    @Test func theDocumentInTheMakingIsThatOfTheSameCases() throws {
        var (run, so) = (Self.run, Self.run)
        so.cases = []
        var document = ResultsDocument(run, about: Self.facts)
        for (index, result) in run.cases.enumerated() {
            #expect(try document.text() == ResultsJSON.text(so, about: Self.facts))
            var first = result
            first.message = "first\nattempt"
            if index == 1 { try document.add(first) }
            try document.add(result)
            so.cases.append(result)
        }
        #expect(try document.text() == ResultsJSON.text(so, about: Self.facts))
        run.cases = []
        #expect(throws: DecodingError.self) { try ResultsJSON.read(Data(ResultsJSON.frame(of: run, [], Self.facts).utf8)) }
    }

    @Test func whatDiffersFromTheLastPassIsSaid() throws {
        var (then, older, elsewhere) = (Self.run, Self.run, Self.facts)
        then.cases[0].verdict = .pass
        then.cases[0].virtualMilliseconds = 812.5
        (older.cases[0].verdict, older.seed) = (.pass, 99)
        (elsewhere.date, elsewhere.version) = ("2026-11-21T08:00:00", "0.0.9")
        var oldest = elsewhere
        oldest.date = "2025-01-01T00:00:00"
        func step(_ outcome: StepRecord.Outcome) throws -> StepRecord {
            let text =
                #"{"part": "steps", "depth": 0, "position": "x.yaml:3:1", "step": "tester expects <X>", "outcome": "\#(outcome.rawValue)", "times": 1}"#
            return try JSONDecoder().decode(StepRecord.self, from: Data(text.utf8))
        }
        then.cases[0].steps = [try step(.done)]
        var now = Self.run
        now.cases[0].steps = [try step(.stopped)]
        let earlier = EarlierRuns([(then, elsewhere), (older, oldest)])
        let pass = try #require(earlier.lastPass(of: now.cases[0].id))
        let rows = SinceLastPass(pass, now.cases[0], now, Self.facts).rows.map { "\($0.what): \($0.then), \($0.now)" }
        #expect(
            rows == [
                "verdict: PASS, FAIL", "bluebench: 0.0.9, 0.1.0", "tester expects <X>: done, stopped", "simulated time: 812.5 ms, 0.0 ms",
            ])
        let page = try HTMLPage(now, about: Self.facts, comparedWith: earlier).text()
        for text in ["then 2026-11-21 08:00:00 UTC", "tester expects &lt;X&gt;", "1 of 3 that need attention passed before", "either."] {
            #expect(page.contains(text), "\(text)")
        }
        #expect(try !HTMLPage(now, about: Self.facts).text().contains("Since it last passed"))
    }

    @Test func junitIsWellFormed() throws {
        let text = JUnit.text(Self.run)
        let document = try XMLDocument(xmlString: text)
        let root = try #require(document.rootElement())
        #expect(root.attribute(forName: "tests")?.stringValue == "5")
        #expect(root.attribute(forName: "failures")?.stringValue == "1")
        #expect(root.attribute(forName: "errors")?.stringValue == "2")
        #expect(root.elements(forName: "testsuite").map { $0.attribute(forName: "name")?.stringValue } == ["dle", "phy"])
        let message = try document.nodes(forXPath: "//failure/@message").first?.stringValue
        #expect(message == "expected LE_PHY_Update_Complete\nwithin 2 s, none came \u{FFFD}")
    }

    private static var facts: RunFacts {
        var facts = RunFacts()
        (facts.date, facts.host, facts.version) = ("2026-11-22T01:17:16", "bench-<1>", "0.1.0")
        return facts
    }

    @Test func junitSaysWhenAndWhereAndPointsAtTheLine() throws {
        let root = try #require(try XMLDocument(xmlString: JUnit.text(Self.run, about: Self.facts)).rootElement())
        for suite in root.elements(forName: "testsuite") {
            #expect(suite.attribute(forName: "timestamp")?.stringValue == "2026-11-22T01:17:16")
            #expect(suite.attribute(forName: "hostname")?.stringValue == "bench-<1>")
        }
        let failed = try #require(try root.nodes(forXPath: "//testcase[failure]").first as? XMLElement)
        let body = failed.elements(forName: "failure").first?.stringValue ?? ""
        #expect(body.contains("Conformance/phy/x.yaml:9"))
        #expect(body.contains("Title with <b>") && body.contains("packet 17 of capture-2.btsnoop"))
    }

    /// Attributes and children that junit-10.xsd of the xUnit plugin for Jenkins allows; the plugin validates before it reads.
    private static let allowed: [String: (attributes: Set<String>, children: Set<String>)] = [
        "testsuites": (["name", "time", "tests", "failures", "errors"], ["testsuite"]),
        "testsuite": (
            [
                "name", "tests", "failures", "errors", "group", "time", "skipped", "timestamp", "hostname", "id", "package", "file", "log",
                "url",
            ],
            ["testsuite", "properties", "testcase", "system-out", "system-err"]
        ),
        "properties": ([], ["property"]), "property": (["name", "value"], []),
        "testcase": (
            ["name", "time", "classname", "group"],
            ["skipped", "error", "failure", "rerunFailure", "rerunError", "flakyFailure", "flakyError", "system-out", "system-err"]
        ),
        "failure": (["type", "message"], []), "error": (["type", "message"], []), "skipped": (["type", "message"], []),
        "rerunFailure": (["type", "message"], ["stackTrace", "system-out", "system-err"]),
        "rerunError": (["type", "message"], ["stackTrace", "system-out", "system-err"]),
        "flakyFailure": (["type", "message"], ["stackTrace", "system-out", "system-err"]),
        "system-out": ([], []), "system-err": ([], []),
    ]

    @Test func junitHasOnlyWhatTheStrictestReaderTakes() throws {
        var rest = [try #require(try XMLDocument(xmlString: JUnit.text(Self.run, about: Self.facts)).rootElement())]
        var names: Set<String> = []
        while let element = rest.popLast() {
            let name = element.name ?? ""
            let allowed = try #require(Self.allowed[name], "\(name)")
            #expect(Set((element.attributes ?? []).compactMap(\.name)).isSubset(of: allowed.attributes), "\(name)")
            let children = (element.children ?? []).compactMap { $0 as? XMLElement }
            #expect(Set(children.compactMap(\.name)).isSubset(of: allowed.children), "\(name)")
            names.insert(name)
            rest += children
        }
        #expect(names.isSuperset(of: ["testcase", "property", "failure", "error", "skipped"]))
    }

    @Test func aRunWithoutFactsIsTheSameEachTime() throws {
        #expect(!JUnit.text(Self.run).contains("timestamp") && !JUnit.text(Self.run).contains("hostname"))
        #expect(try !HTMLPage(Self.run).text().contains(" UTC"))
    }

    @Test func thePageSaysWhenWhereAndInWhichCapture() throws {
        let page = try HTMLPage(Self.run, about: Self.facts).text()
        for text in [
            "subject 1.3 ms", "2026-11-22 01:17:16 UTC", "bench-&lt;1&gt;", "0.1.0", #"<a href="capture-2.btsnoop">"#,
            "1 case failed, 2 without a verdict",
            "\\u{1B}[31mteardown",
        ] {
            #expect(page.contains(text), "\(text)")
        }
        #expect(!page.unicodeScalars.contains { $0.value < 0x20 && $0 != "\n" })
    }

    @Test func thePageIsWholeAndEscaped() throws {
        let bars = [
            ThroughputBar(label: "notify 2m <251>", group: "15 ms", goodput: 1_300, ceiling: 1_386.4, percent: 93.8, limit: "air"),
            ThroughputBar(label: "write 1m", group: "15 ms", goodput: 0, ceiling: 780.8, percent: 0, limit: "host"),
        ]
        let page = try HTMLPage(Self.run, throughput: bars).text()
        #expect(page.contains("1 case failed"))
        #expect(page.contains("Title with &lt;b&gt;&amp;&quot;quotes&quot;"))
        #expect(page.contains("notify 2m &lt;251&gt;"))
        #expect(!page.contains("http") && !page.contains("src=") && !page.contains("@import"))
        #expect(page.contains("packet") && page.contains("17"))
        #expect(page.contains("<svg class=\"chart\""))
    }

    @Test(arguments: [(0.0, 1.0), (780.8, 800), (1_386.4, 1_600), (0.03, 0.032), (1e6, 1e6)])
    func chartLimitsAreRound(_ value: Double, _ limit: Double) {
        #expect(abs(ThroughputChart.niceLimit(value) - limit) < limit * 1e-9)
    }

    @Test(arguments: [(0.0, "0.000"), (1.5, "1.500"), (-0.25, "-0.250"), (12.3456, "12.346")])
    func decimals(_ value: Double, _ text: String) {
        #expect(JUnit.decimal(value) == text)
    }
}
