import BBConformance
import Foundation
import Testing

@testable import BBReport

/// Results of somebody else, with numbers that no run has.
@Suite struct HostileResultsTests {
    private static let document = """
        {"format": 3, "run": {"seed": "1", "tester": "t", "subject": "s", "interrupted": false, "slack_ms": 1, "devices": [{"side": "tester",
        "device": "x", "discarded": 1, "held": 1, "worst_wait_ms": 1, "dropped": 1, "cleared_halts": 1, "known": [], "workarounds": [],
        "learned": [{"kind": "k", "text": "t", "count": 1}], "losses": [{"at_ms": 1, "reason": "r", "away_ms": 1}]}],
        "usb": {"handles_opened": 1, "transfers_submitted": 1, "handles_open": 1, "transfers_allocated": 1, "transfers_in_flight": 1}},
        "summary": {"pass": 1, "fail": 0, "inconc": 0, "na": 0, "error": 0},
        "cases": [{"id": "a/b", "verdict": "FAIL", "duration_ms": 1, "virtual_ms": 1, "worst_scheduling_delay_ms": 1, "seed": "1",
        "first_packet": 1, "last_packet": 1, "packets_omitted": 1, "packets_omitted_at": 1, "log_omitted": 1, "log_omitted_at": 1,
        "log": [{"at_ms": 1, "text": "l"}], "evidence": [{"packet": 1, "side": "tester", "text": "e", "at_us": 1, "at_ms": 1}],
        "packets": [{"packet": 1, "side": "tester", "way": "down", "at_ms": 1, "name": "Reset", "fields": [], "times": 1}],
        "attempts": [{"verdict": "FAIL", "message": "", "seed": "1", "duration_ms": 1, "evidence": []}],
        "commands": [{"attempt": 1, "duration_ms": 1, "exit_code": 1, "occasion": "before-case", "output": "", "output_omitted": 1}]}]}
        """

    private static let names = [
        "slack_ms", "discarded", "held", "worst_wait_ms", "dropped", "cleared_halts", "count", "at_ms", "away_ms", "handles_open",
        "transfers_in_flight", "pass", "duration_ms", "virtual_ms", "worst_scheduling_delay_ms", "first_packet", "last_packet",
        "packets_omitted", "packets_omitted_at", "log_omitted", "log_omitted_at", "packet", "at_us", "times", "attempt", "exit_code",
        "output_omitted",
    ]

    private static let numbers = [
        "1e300", "-1e300", "1.7976931348623157e308", "1e400", "9223372036854775807", "-9223372036854775808", "9223372036854775808",
        "18446744073709551615", "0", "-1", "0.5", "null", "[[[]]]", "\"NaN\"",
    ]

    @Test(arguments: names, numbers) func reportsAreMadeOfAnyNumber(_ name: String, _ number: String) throws {
        let text = Self.document.replacing("\"\(name)\": 1", with: "\"\(name)\": \(number)")
        try #require(text != Self.document)
        guard let (result, facts) = try? ResultsJSON.read(Data(text.utf8)) else { return }
        let written = try ResultsJSON.text(result, about: facts)
        let (again, _) = try ResultsJSON.read(Data(written.utf8))
        #expect(try ResultsJSON.text(again, about: facts) == written)
        #expect(JUnit.text(result, about: facts).contains("classname=\"a\" name=\"b\""))
        #expect(MarkdownSummary(result, about: facts).text.contains("a/b"))
        #expect(try HTMLPage(result, about: facts, comparedWith: EarlierRuns([(again, facts)])).text().contains("a/b"))
    }

    /// A list within lists, a list of many elements, and a text of many characters.
    private static let masses: [(String, String)] = [
        ("deep", String(repeating: "[", count: 100_000) + String(repeating: "]", count: 100_000)),
        ("long", "[" + String(repeating: "\"x\",", count: 100_000) + "\"x\"]"),
        ("wide", "\"" + String(repeating: "x", count: 1_000_000) + "\""),
    ]

    @Test(arguments: masses) func massesAreReadOrRefused(_ name: String, _ value: String) throws {
        for field in ["notes", "covers", "message", "unknown"] {
            let text = Self.document.replacing(
                "\"verdict\": \"FAIL\", \"duration_ms\"", with: "\"verdict\": \"FAIL\", \"\(field)\": \(value), \"duration_ms\"")
            guard let (result, facts) = try? ResultsJSON.read(Data(text.utf8)) else { continue }
            #expect(JUnit.text(result, about: facts).count > 100)
        }
    }
}
