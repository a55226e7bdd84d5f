import BBPackets
import Testing

@testable import BBCases

/// Conditions on the events that answer commands, and octets that are put together.
struct CommandAnswerTests {
    private static let vocabulary = Vocabulary(pdus: Vocabulary.declaredPDUs)

    /// The conditions on Command_Complete, and the first mistake in them.
    @Test(
        arguments: [
            ("{Command_Opcode: LE_Rand, Return_Parameters: {Status: Success, Random_Number: {not: 0}}}", nil),
            ("{Command_Opcode: LE_Read_PHY, Return_Parameters: {TX_PHY: LE_2M}}", nil),
            ("{Return_Parameters: {Status: {not: Success}}}", nil),
            ("{Command_Opcode: \"LE_Set_Host_Feature [v2]\"}", nil), ("{Command_Opcode: 0xFCFE, Return_Parameters: \"00\"}", nil),
            ("{Command_Opcode: LE_Rant}", "Command_Opcode has no value 'LE_Rant'; did you mean LE_Rand?"),
            ("{Command_Opcode: 0x2018}", "Command_Opcode is written by name: LE_Rand for 0x2018"),
            ("{Command_Opcode: LE_Rand, Return_Parameters: {Status: Succes}}", "Status has no value 'Succes'; did you mean Success?"),
            ("{Command_Opcode: LE_Rand, Return_Parameters: {TX_PHY: LE_2M}}", "Return_Parameters has no field 'TX_PHY'"),
            ("{Return_Parameters: {Random_Number: 1}}", "Return_Parameters has no field 'Random_Number'"),
        ] as [(String, String?)])
    func conditionsOnAnAnswerAreChecked(_ conditions: String, _ expected: String?) {
        let text = Samples.head("steps:\n  - {expect: Command_Complete, as: tester, within: 1 s, where: \(conditions), states: s}")
        let problems = Samples.load(text, Self.vocabulary).problems.filter { $0.position.file == "case.yaml" && !$0.isWarning }
        #expect(expected == nil ? problems.isEmpty : problems.first?.text.hasPrefix(expected ?? "") == true, "\(problems)")
    }

    /// The conditions on Command_Complete of LE_Read_PHY with handle 0x0040, LE 2M and LE 1M, and the text of the mismatch.
    @Test(
        arguments: [
            ("{Command_Opcode: LE_Read_PHY, Return_Parameters: {Status: Success, TX_PHY: LE_2M, RX_PHY: LE_1M}}", nil),
            ("{Return_Parameters: {Status: Success}}", nil), ("{Command_Opcode: LE_Rand}", "Command_Opcode"),
            ("{Return_Parameters: {Status: Command_Disallowed}}", "Return_Parameters.Status"),
            ("{Command_Opcode: LE_Read_PHY, Return_Parameters: {TX_PHY: LE_1M}}", "Return_Parameters.TX_PHY"),
        ] as [(String, String?)])
    func namesInAnAnswerMatch(_ conditions: String, _ expected: String?) throws {
        let event = HCIPacket(completeOpcode: 0x2030, returns: [0x00, 0x40, 0x00, 0x02, 0x01], credits: 1)
        let text = Samples.head("steps:\n  - {expect: Command_Complete, as: tester, within: 1 s, where: \(conditions), states: s}")
        let testCase = try #require(Samples.load(text, Self.vocabulary).testCase)
        guard case .expect(let expectation) = testCase.steps.first?.kind else {
            Issue.record("no expectation")
            return
        }
        let mismatch = try Predicate.parts(expectation.fields).mismatch(.record(DecodedLayer(hci: event).caseRecord), Variables())
        #expect(mismatch?.path == expected)
    }

    /// A value for octets, and the octets; nil for a mistake.
    @Test(
        arguments: [
            ("{address: $peer}", [0x01, 0x00, 0x00, 0xBE, 0xB1, 0xC0]), ("{address: $number}", [0x01, 0x00, 0x00, 0xBE, 0xB1, 0xC0]),
            ("{join: [\"02\", {address: $peer}, \"01\"]}", [0x02, 0x01, 0x00, 0x00, 0xBE, 0xB1, 0xC0, 0x01]),
            ("{join: [{octet: 0xAA, times: 2}, \"\", {join: [\"01\"]}]}", [0xAA, 0xAA, 0x01]), ("{join: []}", nil),
            ("{address: 9}", nil), ("{join: [5]}", nil), ("{address: [1]}", nil),
        ] as [(String, [UInt8]?)])
    func octetsAreJoined(_ text: String, _ expected: [UInt8]?) throws {
        var reader = SourceReader(file: "x", vocabulary: Self.vocabulary)
        let composed = reader.compose(text)
        let node = try #require(composed)
        let operand = reader.operand(node, field: Vocabulary.Field("Data", .octets(atMost: nil)))
        guard let expected else {
            #expect(!reader.problems.isEmpty)
            return
        }
        var variables = Variables()
        variables["peer"] = .text("C0:B1:BE:00:00:01")
        variables["number"] = .number(0xC0B1_BE00_0001)
        #expect(reader.problems.isEmpty, "\(reader.problems)")
        #expect(try variables.resolve(operand) == .octets(expected))
    }
}
