import BBHCI
import BBPackets
import Testing

@testable import BBTraffic

/// Values that no version of the specification defines are faults; those of a later version are not.
struct DefinedValuesTests {
    struct Row: CustomTestStringConvertible, Sendable {
        var testDescription: String
        var answer: HCIPacket
        var field: String?
    }

    static let rows: [Row] = [
        Row(
            testDescription: "a PHY",
            answer: HCIPacket(completeOpcode: HCICommands.LEReadPHY.opcode, returns: [0, 1, 0, 1, 2], credits: 1)),
        Row(
            testDescription: "no PHY",
            answer: HCIPacket(completeOpcode: HCICommands.LEReadPHY.opcode, returns: [0, 1, 0, 9, 2], credits: 1), field: "TX_PHY"),
        Row(
            testDescription: "no error code",
            answer: HCIPacket(completeOpcode: HCICommands.LEReadPHY.opcode, returns: [0xFF, 1, 0, 9, 2], credits: 1), field: "Status"),
        Row(
            testDescription: "a version after those that are known",
            answer: HCIPacket(
                completeOpcode: HCICommands.ReadLocalVersionInformation.opcode, returns: [0, 20, 0, 0, 20, 15, 0, 0, 0], credits: 1)),
    ]

    @Test(arguments: rows) func anUndefinedValueIsNamed(_ row: Row) {
        #expect(DefinedValues.fault(in: row.answer)?.field == row.field)
    }
}
