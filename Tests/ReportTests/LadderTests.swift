import BBConformance
import Testing

@testable import BBReport

struct LadderTests {
    private static func packet(_ number: Int, _ side: String, _ way: PacketTrace.Way, _ name: String, _ fields: [String] = [])
        -> PacketTrace
    {
        PacketTrace(packet: number, side: side, way: way, atMilliseconds: Double(number), name: name, fields: fields)
    }

    private static func failed(packet: Int?) -> CaseResult {
        var result = CaseResult(id: "phy/a", title: "", verdict: .fail)
        result.evidence = [Evidence(packet: 3, side: "subject", text: "X"), Evidence(packet: 2, side: "tester", text: "Y")]
        result.failedStep = FailedStep(
            position: "a:1:1", step: "expect X", requirement: nil, diff: ExpectationDiff(expected: "X <1>", got: "X 2", packet: packet))
        return result
    }

    private static var trace: CaseTrace {
        var trace = CaseTrace()
        trace.packets = [
            packet(1, "tester", .down, "LE_Set_PHY"),
            packet(2, "tester", .up, "Command_Status", ["Status=Success", "Command_Opcode=LE_Set_PHY"]),
            packet(0, "tester", .air, "LL_PHY_REQ"), packet(0, "subject", .air, "LL_PHY_RSP"),
            packet(3, "subject", .up, "<X>", ["Status=Unknown_HCI_Command", "Data=\u{1B}[2J"]), packet(4, "subject", .down, "LE_Read_PHY"),
        ]
        return trace
    }

    @Test(arguments: [
        ("LE_Set_PHY", "t-down"), ("Command_Status", "t-up marked"), ("LL_PHY_REQ", "t-air"), ("LL_PHY_RSP", "s-air"),
        ("&lt;X&gt;", "s-up failing"),
        ("LE_Read_PHY", "s-down"),
    ])
    func arrowsGoFromWhereToWhere(_ name: String, _ style: String) throws {
        let rows = Ladder(Self.failed(packet: 3), Self.trace).html().split(separator: "<li class=\"")
        let row = try #require(rows.first { $0.contains(">\(name)<") })
        #expect(row.hasPrefix(style + "\""))
    }

    @Test func aRowSaysWhichCommandIsAnsweredAndWhatWentWrong() {
        let page = Ladder(Self.failed(packet: 3), Self.trace).html()
        #expect(
            page.contains(#"<span class="brief">LE_Set_PHY</span>"#) && page.contains(#"<span class="brief">Unknown_HCI_Command</span>"#))
        #expect(page.contains("<code>Data=\\u{1B}[2J</code>") && !page.contains("\u{1B}"))
    }

    @Test func whatNeverCameAndWhatIsLeftOutAreSaid() {
        var trace = Self.trace
        (trace.omitted, trace.gap) = (12, 2)
        let page = Ladder(Self.failed(packet: nil), trace).html()
        #expect(page.contains("12 packets are not shown") && page.contains("expected X &lt;1&gt;: X 2"))
        #expect(Ladder(Self.failed(packet: nil), CaseTrace()).html().isEmpty)
    }

    /// The ladders of passed cases have a common limit; each of the others has only its own.
    @Test func thePageIsBounded() throws {
        var run = RunResult(seed: 1, tester: "virtual", subject: "virtual")
        for number in 0..<1_000 {
            var result = CaseResult(id: "a/\(number)", title: "", verdict: .pass)
            result.trace = Self.trace
            run.cases.append(result)
        }
        let page = try HTMLPage(run).text()
        #expect(page.ranges(of: "LL_PHY_REQ").count == HTMLPage.mostRowsOfPassed / Self.trace.packets.count)
    }

    @Test(arguments: [
        ("phy/a", "phy/a"), ("dle/b[octets=27]", "'dle/b[octets=27]'"), ("it's", #"'it'\''s'"#), ("", "''"), ("a b", "'a b'"),
        ("$(x)", "'$(x)'"),
    ])
    func wordsForAShell(_ word: String, _ quoted: String) {
        #expect(Markup.quoted(word) == quoted)
    }
}
