import BBCases
import Testing

@testable import BBDiagnosis

private struct Mistake: Sendable, CustomTestStringConvertible {
    var yaml: String
    var expected: String
    var testDescription: String { expected }
}

private let head = "rules:\n  - id: one\n    severity: fault\n    message: text\n"

private let mistakes = [
    Mistake(yaml: "rules: 5", expected: "rules must be a list"),
    Mistake(yaml: "rulez: []", expected: "a rules file has no 'rulez'; did you mean rules?"),
    Mistake(yaml: head, expected: "a rule needs `on:`"),
    Mistake(
        yaml: head + "    on: Disconnection_Complet\n",
        expected: "there is no PDU 'Disconnection_Complet'; did you mean Disconnection_Complete?"),
    Mistake(yaml: head + "    on: Hardware_Error\n    where: {Code: 1}\n", expected: "Hardware_Error has no field 'Code'"),
    Mistake(yaml: head + "    on: Pairing_Failed\n    where: {Reason: Rejected}\n", expected: "Reason has no value 'Rejected'"),
    Mistake(yaml: head + "    on: Pairing_Failed\n    times: 0\n", expected: "times is a number from 1 to 10000, not 0"),
    Mistake(yaml: head + "    on: Pairing_Failed\n    within: 2 h\n", expected: "'2 h' is not a time"),
    Mistake(yaml: head + "    on: Pairing_Failed\n    per: room\n", expected: "per is link, device, adapter, capture, not 'room'"),
    Mistake(yaml: head + "    on: Pairing_Failed\n    link: {Speed: 1}\n", expected: "a link has no field 'Speed'"),
    Mistake(yaml: head + "    on: Pairing_Failed\n    whenever: now\n", expected: "a rule has no 'whenever'"),
    Mistake(yaml: head.replacing("text", with: "\"{Cause}\"") + "    on: Pairing_Failed\n", expected: "the message has no 'Cause' to show"),
    Mistake(
        yaml: head.replacing("fault", with: "bad") + "    on: Pairing_Failed\n",
        expected: "severity is fault, symptom, capture, risk, note, harmless, not 'bad'"),
    Mistake(yaml: "rules: [" + String(repeating: "[", count: 100), expected: "brackets are nested too deeply"),
]

@Suite struct RuleTests {
    @Test func builtInRulesAreValid() throws {
        let rules = try DiagnosisRule.builtIn()
        #expect(rules.count > 40)
        let ids = Set(rules.map(\.id))
        for rule in rules { #expect(rule.explains.isSubset(of: ids), "\(rule.id)") }
    }

    @Test(arguments: mistakes) fileprivate func mistakesAreReported(_ mistake: Mistake) throws {
        let problems = #expect(throws: Problems.self) { try DiagnosisRule.read(mistake.yaml, file: "own.yaml") }
        #expect(problems?.description.contains(mistake.expected) == true, "\(problems?.description ?? "")")
        #expect(problems?.list.allSatisfy { $0.position.line >= 1 } == true)
    }
}

@Suite struct CodeTests {
    /// A code, and words of its text.
    static let codes: [(code: Int, says: [String])] = [
        (0x22, ["0x22 = 34", "HCI error: LMP_Response_Timeout", "rule response-timeout"]),
        (546, ["NimBLE: 0x0200 + HCI error 0x22"]), (133, ["Android: GATT_ERROR"]), (-110, ["Linux: ETIMEDOUT"]),
        (0x40D, ["Pairing_Failed reason 0x0D"]), (0x103, ["nRF SoftDevice: 0x0100 + ATT error 0x03"]),
    ]

    @Test(arguments: codes) func aCodeHasItsMeanings(code: Int, says: [String]) throws {
        let text = try #require(try CodeTable.builtIn().text(of: code))
        for words in says { #expect(text.contains(words), "\(text)") }
    }

    @Test func unknownCodesHaveNoText() throws {
        let table = try CodeTable.builtIn()
        for code in [Int.min, -99_999, 0x2FF, 0xFFFF, Int.max] { #expect(table.text(of: code) == nil, "\(code)") }
        #expect(CodeTable.number("0x22") == 34 && CodeTable.number("-110") == -110)
        for text in ["", "-", "0x", "phy/a", "1e3", "99999999999999999999", "0xFFFFFFFFFF"] {
            #expect(CodeTable.number(text) == nil, "\(text)")
        }
    }

    /// A code names a rule that exists, and a number that can be read.
    @Test func theTableIsConsistent() throws {
        let table = try CodeTable.builtIn()
        let ids = Set(try DiagnosisRule.builtIn().map(\.id))
        for (key, entry) in table.lists.values.flatMap({ $0 }) + table.stacks.flatMap(\.codes) {
            #expect(CodeTable.number(key) != nil && entry.rule.map(ids.contains) != false, "\(key)")
        }
    }
}
