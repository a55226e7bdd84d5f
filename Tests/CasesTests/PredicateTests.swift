import BBTiming
import Testing

@testable import BBCases

extension SystemRandomNumberGenerator {
    static func seeded(_ seed: UInt64) -> RandomSource { RandomSource(seed: seed) }
}

struct PredicateTests {
    static let values: [(String, CaseValue, Bool)] = [
        ("5", .number(5), true), ("5", .number(6), false), ("0x10", .number(16), true),
        ("{not: 5}", .number(6), true), ("{not: 5}", .number(5), false),
        ("{range: [1, 3]}", .number(3), true), ("{range: [1, 3]}", .number(4), false),
        ("{atLeast: 2}", .number(2), true), ("{atMost: 2}", .number(3), false), ("{atLeast: 2, atMost: 4}", .number(5), false),
        ("{anyOf: [1, {atLeast: 9}]}", .number(12), true), ("{anyOf: [1, 2]}", .number(3), false),
        ("{mask: 0x0F, is: 3}", .number(0x13), true), ("{mask: 0x06}", .number(0x07), true), ("{mask: 0x06}", .number(0x05), false),
        ("{mask: 0x0100}", .octets([0x00, 0x01]), true),
        ("{length: 3}", .octets([1, 2, 3]), true), ("{length: {atMost: 2}}", .octets([1, 2, 3]), false),
        ("\"01 02\"", .octets([1, 2]), true), ("[1, 2]", .octets([1, 2]), true), ("{text: Feed}", .octets(Array("Feed".utf8)), true),
        ("Bluebench", .octets(Array("Bluebench".utf8)), true),
        ("{startsWith: \"01\"}", .octets([1, 2]), true), ("{endsWith: \"02\"}", .octets([1, 2]), true),
        ("{contains: \"02 03\"}", .octets([1, 2, 3, 4]), true), ("{contains: \"02 04\"}", .octets([1, 2, 3, 4]), false),
        ("{some: 2}", .list([.number(1), .number(2)]), true), ("{each: {atLeast: 2}}", .list([.number(1), .number(2)]), false),
        ("{octet: 0xAA, times: 3}", .octets([0xAA, 0xAA, 0xAA]), true),
        ("{near: 100, tolerance: 2}", .number(98), true), ("{near: 100, tolerance: 2}", .number(103), false),
        ("{any: true}", .text("x"), true),
        ("{uint8: {range: [0, 100]}}", .octets([100, 255]), true), ("{uint8: {range: [0, 100]}}", .octets([101]), false),
        ("{int16: -2, at: 2}", .octets([0, 0, 0xFE, 0xFF]), true), ("{int16: -2, at: 3}", .octets([0, 0, 0xFE, 0xFF]), false),
        ("{uint16: {atLeast: 256}}", .octets([0, 1]), true), ("{uint32: 0x04030201}", .octets([1, 2, 3, 4]), true),
        ("{int8: 127}", .octets([127]), true), ("{uint24: 1}", .octets([1, 0]), false), ("{uint8: 1}", .octets([]), false),
        ("0000FF11-0000-1000-8000-00805F9B34FB", .text("FF11"), true), ("0000FF11-0000-1000-8000-00805F9B34FB", .text("FF12"), false),
        ("\"0000FF11\"", .text("FF11"), false), ("Front-Left", .text("FF11"), false),
        ("{bitsOf: 0x0F}", .number(5), true), ("{bitsOf: 0x0F}", .number(0x15), false),
    ]

    @Test(arguments: values)
    func predicates(_ text: String, _ value: CaseValue, _ holds: Bool) throws {
        var reader = SourceReader(file: "x", vocabulary: Samples.vocabulary)
        let composed = reader.compose(text)
        let node = try #require(composed)
        let predicate = reader.predicate(node)
        #expect(reader.problems.isEmpty, "\(reader.problems)")
        let mismatch = try predicate.mismatch(value, Variables())
        #expect((mismatch == nil) == holds, "\(mismatch?.text ?? "it holds")")
    }

    /// A field of a PDU, a predicate on it, a value, and the text of the message.
    @Test(
        arguments: [
            (
                "ATT_ERROR_RSP", "Error_Code", "{anyOf: [1, 3, 6]}", .number(10),
                "Invalid_Handle, Write_Not_Permitted or Request_Not_Supported"
            ),
            ("ATT_ERROR_RSP", "Error_Code", "{not: 10}", .number(10), "not Attribute_Not_Found"),
            ("ATT_ERROR_RSP", "Request_Opcode_In_Error", "22", .number(8), "ATT_PREPARE_WRITE_REQ"),
            ("ATT_ERROR_RSP", "Attribute_Handle_In_Error", "{atLeast: 22}", .number(8), "at least 0x0016"),
            (
                "Disconnection_Complete", "Reason", "{anyOf: [0x13, 0x16]}", .number(8),
                "Remote_User_Terminated_Connection or Connection_Terminated_By_Local_Host"
            ),
            (
                "listen to device", "allTypes", "{some: 10}", .list([.number(1), .number(9), .number(0x19)]),
                "an element that is TX_Power_Level"
            ),
            ("ATT_EXCHANGE_MTU_RSP", "Server_Rx_MTU", "{range: [23, 517]}", .number(22), "23 octets to 517 octets"),
        ] as [(String, String, String, CaseValue, String)])
    func valuesGoByTheNamesOfTheirFields(_ pdu: String, _ field: String, _ text: String, _ value: CaseValue, _ expected: String) throws {
        let predicate = try Self.predicate(text)
        let record = CaseValue.record(CaseRecord([(field, value)]))
        let parts = Predicate.parts([FieldPredicate(name: field, predicate: predicate, position: Position(file: "x", line: 1, column: 1))])
        let mismatch = try #require(try parts.mismatch(record, Variables()))
        let worded = mismatch.worded(ValueNames(pdu: pdu))
        #expect(worded.path == field && worded.expected == expected)
        #expect(!worded.actual.contains("(0x"), "\(worded.actual)")
        #expect(
            [FieldPredicate(name: field, predicate: predicate, position: Position(file: "x", line: 1, column: 1))].words(of: pdu) == [
                "\(field) \(expected)"
            ])
    }

    /// The same octets look the same on both sides of a message, in whatever notation the case has them.
    @Test(
        arguments: [
            ("\"00 01 ff\"", [0, 1, 2], "expected 00 01 FF, got 00 01 02"), ("0001ff10", [0, 1], "expected 00 01 FF 10, got 00 01"),
            ("[0, 1, 2]", [0, 0, 0], "expected 00 01 02, got 00 00 00"), ("{octet: 0, times: 3}", [], "expected 00 00 00, got no octets"),
            (
                "{octet: 0xAA, times: 40}", [UInt8](repeating: 0xAA, count: 36) + [1, 2, 3, 4],
                "got " + [String](repeating: "AA", count: 32).joined(separator: " ") + " ... (40 octets), with 01 at 36"
            ),
        ] as [(String, [UInt8], String)])
    func octetsLookTheSame(_ text: String, _ octets: [UInt8], _ message: String) throws {
        let mismatch = try #require(try Self.predicate(text).mismatch(.octets(octets), Variables()))
        #expect(mismatch.text.hasSuffix(message), "\(mismatch.text)")
    }

    @Test func aFaultThatShouldNotBeIsTheMessage() throws {
        let mismatch = try #require(try Self.predicate("{length: 0}").mismatch(.text("the level is 101"), Variables()))
        #expect(mismatch.fault == "the level is 101" && mismatch.worded().expected == "nothing")
    }

    private static func predicate(_ text: String) throws -> Predicate {
        var reader = SourceReader(file: "x", vocabulary: Samples.vocabulary)
        let composed = reader.compose(text)
        let predicate = reader.predicate(try #require(composed))
        #expect(reader.problems.isEmpty, "\(reader.problems)")
        return predicate
    }

    @Test func aMismatchNamesTheWayToTheField() throws {
        var reader = SourceReader(file: "x", vocabulary: Samples.vocabulary)
        let composed = reader.compose("{Reports: {some: {Event_Type: 0, RSSI: {atLeast: -50}}}}")
        let node = try #require(composed)
        let predicates = reader.fieldPredicates(
            node, of: "LE_Advertising_Report", fields: Samples.vocabulary.pdus["LE_Advertising_Report"]?.fields ?? [])
        #expect(reader.problems.isEmpty, "\(reader.problems)")
        let report = CaseValue.record(CaseRecord([("Event_Type", .number(0)), ("RSSI", .number(-60))]))
        let event = CaseValue.record(CaseRecord([("Reports", .list([report]))]))
        let mismatch = try Predicate.parts(predicates).mismatch(event, Variables())
        #expect(mismatch?.text == "Reports.0.RSSI: expected at least -50, got -60")
    }

    @Test func referencesLeadIntoSavedValues() throws {
        var variables = Variables()
        variables["link"] = .record(CaseRecord([("handles", .list([.number(64), .number(65)]))]))
        var reader = SourceReader(file: "x", vocabulary: Samples.vocabulary)
        let good = reader.compose("$link.handles.1").map { reader.operand($0) }
        #expect(try variables.resolve(try #require(good)) == .number(65))
        let wrong = reader.compose("$link.handles.2").map { reader.operand($0) }
        let bad = try #require(wrong)
        #expect(throws: BadReference.self) { try variables.resolve(bad) }
    }

    @Test(arguments: [
        ("a", true), ("b", false), ("not b", true), ("a and b", false), ("a or b", true), ("not (a and b)", true), ("b or a and c", false),
    ])
    func requirements(_ text: String, _ holds: Bool) throws {
        let requirement = try Requirement(parsing: text)
        #expect(requirement.holds(in: ["a"]) == holds)
        #expect(requirement.unmet(in: ["a"]).isEmpty == holds)
    }

    @Test(arguments: ["", "and", "a b", "(a", "a)", "not", String(repeating: "(", count: 1_000)])
    func badRequirements(_ text: String) {
        #expect(throws: Requirement.SyntaxError.self) { try Requirement(parsing: text) }
    }

    /// The name of a value has no number where its field is unknown.
    @Test(arguments: ["Success", "{not: Success}", "{anyOf: [1, Success]}"]) func aNameIsNotComparedWithANumber(text: String) throws {
        let predicate = try Self.predicate(text)
        #expect(throws: BadReference.self) { try predicate.mismatch(.number(0), Variables()) }
        #expect(throws: Never.self) { try predicate.mismatch(.text("Success"), Variables()) }
    }
}
