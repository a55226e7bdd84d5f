import BBCapture
import BBPackets
import Testing

@testable import BBDiagnosis

private struct Sample: Sendable, CustomTestStringConvertible {
    var condition: String
    /// The packets of `packets` for which it holds.
    var holds: [Int]
    var testDescription: String { condition }
}

private let packets: [DecodedPacket] = {
    var decoder = PacketDecoder()
    let all: [HCIPacket] = [
        // Reset, and its success.
        HCIPacket(.command, [0x03, 0x0C, 0x00]), HCIPacket(.event, [0x0E, 0x04, 0x01, 0x03, 0x0C, 0x00]),
        // Read_Local_Version_Information is refused.
        HCIPacket(.event, [0x0E, 0x04, 0x01, 0x01, 0x10, 0x01]),
        // Disconnection Complete of handle 0x0040: the remote user ended the connection.
        HCIPacket(.event, [0x05, 0x04, 0x00, 0x40, 0x00, 0x13]),
        // ATT_READ_REQ of handle 0x0003 on connection 0x0040.
        HCIPacket(.acl, [0x40, 0x20, 0x07, 0x00, 0x03, 0x00, 0x04, 0x00, 0x0A, 0x03, 0x00]),
    ]
    return all.map { decoder.decode($0, .controllerToHost) }
}()

private let samples = [
    Sample(condition: "Status = Success", holds: [1, 3]),
    Sample(condition: "Status == Success", holds: [1, 3]),
    Sample(condition: "Status != Success", holds: [2]),
    Sample(condition: "not Status = Success", holds: [0, 2, 4]),
    Sample(condition: "Reset or Disconnection_Complete", holds: [0, 3]),
    Sample(condition: "Disconnection_Complete and Reason != Remote_User_Terminated_Connection", holds: []),
    Sample(condition: "Command_Complete and (Status != Success)", holds: [2]),
    Sample(condition: "{Status: {not: Success}}", holds: [2]),
    Sample(condition: "{Status: Success, Connection_Handle: 0x40}", holds: [3]),
    Sample(condition: "Attribute_Handle >= 3 and Attribute_Handle < 4", holds: [4]),
    Sample(condition: "Attribute_Handle > 3", holds: []),
    Sample(condition: "ATT_READ_REQ and Connection_Handle = 64", holds: [4]),
    Sample(condition: "Attribute_Handle", holds: [4]),
    Sample(condition: "'Disconnection_Complete'", holds: [3]),
]

private let mistakes: [(text: String, expected: String)] = [
    ("", "a condition is expected at the end"), ("Status !=", "a value is expected after 'Status !='"),
    ("Disconnection_Complet", "did you mean Disconnection_Complete?"), ("Statuss = 0", "did you mean Status?"),
    ("Status = 0", "Status is written by name: Success for 0"),
    ("Reason = Connection_Timout", "Reason has no value 'Connection_Timout'; did you mean Connection_Timeout?"),
    ("Reason = 8", "Reason is written by name: Connection_Timeout for 8"), ("Link_Lost", "there is no PDU and no field 'Link_Lost'"),
    ("Status = Sucess", "Status has no value 'Sucess'; did you mean Success?"), ("(Status = Success", "a closing bracket is missing"),
    ("Status = Success)", "')' is not expected there"), ("{Status: 0", "a closing brace is missing"),
    ("{Status: {atLest: 0}}", "there is no condition 'atLest'"), ("Status = 'x", "a quotation mark is missing"),
    ("Status ! 0", "'!' is not expected there"), ("{Status: 0, Attribute_Handle: 1}", "no PDU has all of the fields"),
    (String(repeating: "(", count: 1_000), "brackets are nested too deeply"),
    (String(repeating: "not ", count: 1_000) + "Reset", "brackets are nested too deeply"),
    (String(repeating: "x", count: 20_000), "a condition has at most 10000 characters"),
]

@Suite struct PacketConditionTests {
    @Test(arguments: samples) fileprivate func conditionSelectsPackets(_ sample: Sample) throws {
        let condition = try PacketCondition(sample.condition)
        #expect(packets.indices.filter { condition.holds(for: packets[$0]) } == sample.holds)
    }

    @Test(arguments: mistakes.indices) func mistakesAreReported(_ index: Int) {
        let (text, expected) = mistakes[index]
        let error = #expect(throws: PacketCondition.Malformed.self) { try PacketCondition(text) }
        #expect(error?.description.contains(expected) == true, "\(error?.description ?? "")")
    }
}
