import BBConformance
import Testing

@testable import BBReport

/// Cases that need attention, by their likely cause.
struct AttentionTests {
    private static func failed(_ id: String, _ requirement: String, _ outcome: String, expected: String? = nil, got: String? = nil)
        -> CaseResult
    {
        var result = CaseResult(id: id, title: "", verdict: .fail)
        result.message = requirement + " " + outcome
        var step = FailedStep(position: "x.yaml:1:1", step: "expect", requirement: requirement)
        (step.expected, step.got) = (expected, got)
        result.failedStep = step
        return result
    }

    private static func groups(_ cases: [CaseResult]) -> [(message: String, ids: [String])] {
        var run = RunResult(seed: 1, tester: "virtual", subject: "virtual")
        run.cases = cases
        return Attention(run).groups.map { group in
            (
                group["message"] as? String ?? "",
                (group["cases"] as? [[String: Any]] ?? []).compactMap { $0["id"] as? String }
            )
        }
    }

    @Test func casesWithTheSameMissingAnswerAreOneGroup() {
        let groups = Self.groups([
            Self.failed(
                "att/a", "A read is refused.",
                "Expected ATT_ERROR_RSP within 30 s, but none came; the last there was ATT_READ_RSP (packet 12)."),
            Self.failed(
                "att/b", "A write is refused.",
                "Expected ATT_ERROR_RSP within 30 s, but none came; the last there was ATT_WRITE_RSP (packet 99)."),
            Self.failed("att/c", "It answers.", "Expected ATT_READ_RSP within 30 s, but none came."),
        ])
        #expect(groups.map(\.ids) == [["att/a", "att/b"], ["att/c"]])
        #expect(groups.first?.message.hasPrefix("Expected ATT_ERROR_RSP") == true)
    }

    @Test func casesWithTheSameKindsOfPacketAreOneGroup() {
        let (wanted, got) = ("ATT_ERROR_RSP Error_Code: Read_Not_Permitted", "ATT_READ_RSP {Attribute_Value: 01}")
        let groups = Self.groups([
            Self.failed("att/a", "One.", "expected 1, got 2 (packet 3)", expected: wanted, got: got),
            Self.failed("att/b", "Two.", "expected 3, got 4 (packet 7)", expected: wanted, got: "ATT_READ_RSP {Attribute_Value: 07}"),
            Self.failed("att/c", "Three.", "expected 5, got 6 (packet 9)", expected: wanted, got: "ATT_WRITE_RSP no fields"),
        ])
        #expect(groups.map(\.ids) == [["att/a", "att/b"], ["att/c"]])
    }

    /// A message that is the same but for its numbers stands as it is, with its requirement.
    @Test func oneCauseKeepsItsMessage() {
        let groups = Self.groups([
            Self.failed("sm/a", "It pairs.", "got 0x3D (packet 3)"), Self.failed("sm/b", "It pairs.", "got 0x3D (packet 41)"),
        ])
        #expect(groups.count == 1 && groups[0].message == "It pairs. got 0x3D (packet 3)")
    }
}
