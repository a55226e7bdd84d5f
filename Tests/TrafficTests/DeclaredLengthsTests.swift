import BBHCI
import BBPackets
import Testing

@testable import BBTraffic

/// Lengths of events and of return parameters. Core Vol 4, Part E, 5.4.4 and 7.
struct DeclaredLengthsTests {
    struct Row: CustomTestStringConvertible, Sendable {
        var testDescription: String
        var event: HCIPacket
        /// The message; nil for a correct length.
        var says: String?
    }

    private static func event(_ code: UInt8, _ parameters: [UInt8]) -> HCIPacket {
        HCIPacket(.event, [code, UInt8(parameters.count)] + parameters)
    }
    private static func answer(_ opcode: UInt16, _ returns: [UInt8]) -> HCIPacket { HCIPacket(completeOpcode: opcode, returns: returns) }
    private static func zeros(_ count: Int) -> [UInt8] { [UInt8](repeating: 0, count: count) }
    private static func connection(_ status: UInt8, _ count: Int) -> HCIPacket { event(0x3E, [0x01, status] + zeros(count - 2)) }
    /// A report with two octets of data.
    private static let report: [UInt8] = [0, 0, 1, 2, 3, 4, 5, 6, 2, 0xAA, 0xBB, 0xC0]

    static let rows: [Row] = [
        Row(testDescription: "an event", event: connection(0, 19)),
        Row(
            testDescription: "two octets more", event: event(0x3E, [0x01, 0] + zeros(17) + [7, 8]),
            says: "LE_Connection_Complete: 19 octets of parameters, 21, with 07 08 after Central_Clock_Accuracy"),
        Row(
            testDescription: "one octet less", event: connection(0, 18),
            says: "LE_Connection_Complete: 19 octets of parameters, 18, without Central_Clock_Accuracy"),
        Row(
            testDescription: "an end within a field", event: connection(0, 17),
            says: "LE_Connection_Complete: 19 octets of parameters, 17, which end in Supervision_Timeout"),
        Row(testDescription: "a failure of full length", event: connection(0x3E, 19)),
        Row(testDescription: "a failure that ends after the Status", event: connection(0x3E, 2)),
        Row(
            testDescription: "a failure that is too long", event: connection(0x3E, 20),
            says: "LE_Connection_Complete: 19 octets of parameters, 20, with 00 after Central_Clock_Accuracy"),
        Row(
            testDescription: "no Status", event: event(0x3E, [0x01]),
            says: "LE_Connection_Complete: 19 octets of parameters, 1, without Status"),
        Row(
            testDescription: "an event without parameters", event: event(0x3E, [0x11, 1]),
            says: "LE_Scan_Timeout: 1 octet of parameters, 2, with 01 after Subevent_Code"),
        Row(testDescription: "an event of a vendor", event: event(0xFF, [1, 2, 3])),
        Row(testDescription: "an unknown subevent", event: event(0x3E, [0xFE, 2, 3])),
        Row(testDescription: "an unknown event", event: event(0xFE, [2, 3])),
        Row(testDescription: "any answer to No_Operation", event: answer(0, [])),
        Row(testDescription: "the answer to a vendor's command", event: answer(0xFC77, [0, 1, 2])),
        Row(
            testDescription: "another length in the header", event: HCIPacket(.event, [0x10, 1, 2, 3]),
            says: "Hardware_Error: 1 octet of parameters, by Parameter_Total_Length, 2"),
        Row(
            testDescription: "no opcode", event: event(0x0E, [1, 3]),
            says: "Command_Complete: 3 octets of parameters, or more, 2"),
    ]

    /// The answers to commands, and events with rows.
    static let variable: [Row] = [
        Row(testDescription: "an answer", event: answer(HCICommands.LERand.opcode, zeros(9))),
        Row(
            testDescription: "a longer answer", event: answer(HCICommands.LERand.opcode, zeros(9) + [5]),
            says: "The answer to LE_Rand: 9 octets of return parameters, 10, with 05 after Random_Number"),
        Row(
            testDescription: "an answer without the number", event: answer(HCICommands.LERand.opcode, [0]),
            says: "The answer to LE_Rand: 9 octets of return parameters, 1, without Random_Number"),
        Row(testDescription: "a refusal", event: answer(HCICommands.LERand.opcode, [0x0C])),
        Row(
            testDescription: "a longer refusal", event: answer(HCICommands.LERand.opcode, [0x0C] + zeros(9)),
            says: "The answer to LE_Rand: 9 octets of return parameters, 10, with 00 after Random_Number"),
        Row(
            testDescription: "Supported_Commands", event: answer(HCICommands.ReadLocalSupportedCommands.opcode, zeros(66)),
            says: "The answer to Read_Local_Supported_Commands: 65 octets of return parameters, 66, with 00 after Supported_Commands"),
        Row(testDescription: "two reports", event: event(0x3E, [0x02, 2] + report + report)),
        Row(
            testDescription: "two reports counted as one", event: event(0x3E, [0x02, 1] + report + report),
            says: "LE_Advertising_Report: nothing after RSSI, 00 00 01 02 03 04 05 06 ..."),
        Row(
            testDescription: "a padded report", event: event(0x3E, [0x02, 1] + report + [0]),
            says: "LE_Advertising_Report: nothing after RSSI, 00"),
        Row(
            testDescription: "a report without RSSI", event: event(0x3E, [0x02, 1] + report.dropLast()),
            says: "LE_Advertising_Report: 1 octet for RSSI, 0"),
        Row(testDescription: "credits", event: event(0x13, [1, 1, 0, 2, 0])),
        Row(
            testDescription: "credits and an octet", event: event(0x13, [1, 1, 0, 2, 0, 9]),
            says: "Number_Of_Completed_Packets: nothing after Num_Completed_Packets, 09"),
        Row(testDescription: "a refused LE_Set_CIG_Parameters", event: answer(0x2062, [0x0C, 1, 2])),
    ]

    @Test(arguments: rows + variable) func aWrongLengthIsNamed(_ row: Row) {
        let fault = DeclaredLengths.fault(in: row.event)
        #expect(fault.map { "\($0.name): \($0.wanted), \($0.got)" } == row.says)
    }

    /// The length is judged before anything that follows from it.
    @Test func theLengthIsTheFirstViolation() {
        var rules = HCIRules()
        let event = Self.connection(0, 20)
        rules.received(lengthOf: event, 1)
        #expect(rules.violation == nil, "what was under way before Reset is unknown")
        rules.reset()
        rules.received(lengthOf: event, 2)
        rules.received(event, 2) { _ in true }
        #expect(rules.violation?.rule == "An event has the length of its parameters (Core Vol 4, Part E, 7.7.65.1).")
    }
}
