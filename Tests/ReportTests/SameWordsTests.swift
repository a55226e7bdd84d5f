import BBCapture
import BBPackets
import BBTraffic
import Foundation
import Testing

@testable import BBCases
@testable import BBConformance
@testable import BBReport

/// A packet is described by the same words everywhere: in a line of `show`, as evidence of a case, in reports, and in the message of a
/// FAIL.
struct SameWordsTests {
    struct Row: Sendable, CustomTestStringConvertible {
        var name: String
        var packet: CaptureRecord.Content
        var observed: Observation.Content
        var line: String
        /// A field, another expected value, and the message of the FAIL.
        var path: String
        var wanted: Int
        var mismatch: String
        var testDescription: String { name }
    }

    private static func event(_ name: String, _ event: some HCIEvent, _ line: String, _ path: String, _ wanted: Int, _ mismatch: String)
        -> Row
    {
        let packet = HCIPacket(event: event)
        return Row(
            name: name, packet: .hci(packet, .controllerToHost), observed: .event(packet.bytes), line: line, path: path, wanted: wanted,
            mismatch: mismatch)
    }

    private static func data(
        _ name: String, _ layer: ChannelContent, _ pdu: [UInt8], _ line: String, _ path: String, _ wanted: Int, _ mismatch: String
    ) -> Row {
        let frame = [UInt8(pdu.count), 0, UInt8(layer.channel), 0] + pdu
        return Row(
            name: name, packet: .hci(HCIPacket(acl: 0x40, .first, frame), .controllerToHost),
            observed: .upper(layer, pdu, handle: 0x40), line: line, path: path, wanted: wanted, mismatch: mismatch)
    }

    private static func air(
        _ name: String, _ channel: AirFrame.Channel, _ rfChannel: UInt8, _ access: UInt32, _ pdu: [UInt8], _ line: String, _ path: String,
        _ wanted: Int, _ mismatch: String
    ) -> Row {
        let octets = (0..<4).map { UInt8(truncatingIfNeeded: access >> (8 * $0)) } + pdu + [0, 0, 0]
        let frame = AirFrame(
            rfChannel: rfChannel, signalPower: -40, referenceAccessAddress: access, flags: [.dewhitened], channel: channel,
            modulation: .le1M,
            bytes: octets)
        return Row(name: name, packet: .air(frame), observed: .air(frame), line: line, path: path, wanted: wanted, mismatch: mismatch)
    }

    static let rows: [Row] = [
        event(
            "connection",
            HCIEvents.LEConnectionComplete(
                status: .success, connectionHandle: 0x40, role: .peripheral, peerAddressType: .randomDevice, peerAddress: 0xC0B1_BE00_0001,
                connectionInterval: 12, supervisionTimeout: 72),
            "LE_Connection_Complete Status=Success Connection_Handle=0x0040 Role=Peripheral Peer_Address_Type=Random_Device "
                + "Peer_Address=C0:B1:BE:00:00:01 (random) Connection_Interval=12 (15 ms) Peripheral_Latency=0 events "
                + "Supervision_Timeout=72 (720 ms) Central_Clock_Accuracy=500ppm",
            "Connection_Interval", 24, "Connection_Interval: expected 24 (30 ms), got 12 (15 ms)"),
        event(
            "advertising data",
            HCIEvents.LEAdvertisingReport(reports: [
                .init(
                    address: 0x00B1_BE00_0002, data: [2, 1, 6, 3, 3, 0x0D, 0x18, 5, 9, 0x41, 0x1B, 0x5B, 0x42, 5, 0xFF, 0x4C, 0, 2, 0x15],
                    rssi: -60)
            ]),
            "LE_Advertising_Report Num_Reports=1 Reports=[{Event_Type=ADV_IND Address_Type=Public_Device Address=00:B1:BE:00:00:02 "
                + "Data_Length=19 octets Data={Flags=LE_General_Discoverable|BR_EDR_Not_Supported "
                + "Complete_List_Of_16_Bit_Service_UUIDs=[0x180D (Heart Rate)] Complete_Local_Name=\"A\\u{1B}[B\" "
                + "Manufacturer_Specific_Data={Company=0x004C (Apple) Data=0215}} RSSI=-60 dBm}]",
            "Reports.0.RSSI", 5, "Reports.0.RSSI: expected 5 dBm, got -60 dBm"),
        event(
            "answer",
            HCIEvents.CommandComplete(numHCICommandPackets: 1, commandOpcode: 0x2030, returnParameters: [0x0C]),
            "Command_Complete Num_HCI_Command_Packets=1 Command_Opcode=LE_Read_PHY Status=Command_Disallowed",
            "Status", 0, "Status: expected Success, got Command_Disallowed"),
        event(
            "no operation", HCIEvents.CommandStatus(status: .success, numHCICommandPackets: 4, commandOpcode: 0),
            "Command_Status Status=Success Num_HCI_Command_Packets=4 Command_Opcode=No_Operation",
            "Command_Opcode", 0x0C03, "Command_Opcode: expected Reset, got No_Operation"),
        data(
            "attribute", .att, ATT.ReadByTypeReq(startingHandle: 1, endingHandle: 0xFFFF, attributeType: 0x2803).bytes,
            "ACL 0x0040 ATT_READ_BY_TYPE_REQ Starting_Handle=0x0001 Ending_Handle=0xFFFF Attribute_Type=0x2803 (Characteristic)",
            "Starting_Handle", 16, "Starting_Handle: expected 0x0010, got 0x0001"),
        data(
            "refusal", .att, ATT.ErrorRsp(requestOpcodeInError: 0x0A, attributeHandleInError: 3, errorCode: 2).bytes,
            "ACL 0x0040 ATT_ERROR_RSP Request_Opcode_In_Error=ATT_READ_REQ Attribute_Handle_In_Error=0x0003 Error_Code=Read_Not_Permitted",
            "Error_Code", 1, "Error_Code: expected Invalid_Handle, got Read_Not_Permitted"),
        data(
            "signalling", .signalling, [0x12, 7, 8, 0, 6, 0, 12, 0, 0, 0, 100, 0],
            "ACL 0x0040 L2CAP_CONNECTION_PARAMETER_UPDATE_REQ Interval_Min=6 (7.5 ms) Interval_Max=12 (15 ms) Latency=0 events "
                + "Timeout=100 (1000 ms)",
            "Interval_Max", 6, "Interval_Max: expected 6 (7.5 ms), got 12 (15 ms)"),
        data(
            "pairing", .smp, [0x05, 0x08], "ACL 0x0040 SMP Pairing_Failed Reason=Unspecified_Reason", "Reason", 5,
            "Reason: expected Pairing_Not_Supported, got Unspecified_Reason"),
        air(
            "advertising", .advertising, 12, 0x8E89_BED6, [0x40, 9, 1, 0, 0, 0xBE, 0xB1, 0xC0, 2, 1, 6],
            "channel 38 1M ADV_IND AdvA=C0:B1:BE:00:00:01 (random) AdvData={Flags=LE_General_Discoverable|BR_EDR_Not_Supported}",
            "AdvA", 0xC0, "AdvA: expected 00:00:00:00:00:C0, got C0:B1:BE:00:00:01 (random)"),
        air(
            "extended advertising", .advertising, 0, 0x8E89_BED6, [0x07, 7, 0x46, 0x18, 0x23, 0x41, 0x4C, 0x64, 0x20],
            "channel 37 1M ADV_EXT_IND Extended_Header_Length=6 octets AdvMode=Connectable Extended_Header_Flags=0x18 "
                + "AdvDataInfo={DID=291 SID=4} AuxPtr={Channel_Index=12 CA=0ppm_to_50ppm Offset_Units=30us AUX_Offset=100 AUX_PHY=LE_2M} "
                + "ACAD=(empty) AdvData=(empty)",
            "AuxPtr.AUX_PHY", 0, "AuxPtr.AUX_PHY: expected LE_1M, got LE_2M"),
        air(
            "link layer control", .dataFromCentral, 1, 0x5065_4CA7, [0x0B, 3, 0x16, 2, 3],
            "channel 0 1M 0x50654CA7 C>P SN=1 NESN=0 MD=0 LL_PHY_REQ TX_PHYS=LE_2M RX_PHYS=LE_1M|LE_2M",
            "TX_PHYS", 4, "TX_PHYS: expected LE_Coded, got LE_2M"),
    ]

    @Test("The same words everywhere", arguments: rows) func words(_ row: Row) throws {
        var decoder = PacketDecoder()
        #expect(decoder.decode(CaptureRecord(time: .virtualEpoch, content: row.packet)).description == row.line)

        let observation = Observation(index: 0, side: .subject, name: "", content: row.observed, number: 7, time: .zero)
        let evidence = CaseRun.evidence(observation)
        #expect(evidence.text == row.line)
        try reports(evidence, row)

        let steps = row.path.split(separator: ".").map(String.init).reversed()
        let value = steps.reduce(Mismatch(.equals(.literal(.number(row.wanted))), .number(-1), Variables())) { $0.inside($1) }
        let said = PDUCodec.spoken(value, in: observation.decoded.pdu)
        #expect(said == row.mismatch)
        let field = row.path.split(separator: ".").last.map(String.init) ?? ""
        let got = said.split(separator: ", got ").last.map(String.init) ?? ""
        #expect(row.line.contains("\(field)=\(got)"))
    }

    private func reports(_ evidence: Evidence, _ row: Row) throws {
        var run = RunResult(seed: 1, shuffle: nil, tester: "virtual", subject: "virtual")
        var result = CaseResult(id: "a/b", title: "", verdict: .fail)
        result.evidence = [evidence]
        run.cases = [result]
        let json = try JSONSerialization.jsonObject(with: Data(try ResultsJSON.text(run).utf8)) as? [String: Any]
        let cases = try #require(json?["cases"] as? [[String: Any]])
        #expect(((cases.first?["evidence"] as? [[String: Any]])?.first?["text"] as? String) == row.line)
        var escaped = row.line
        for (character, entity) in [("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ("\"", "&quot;")] {
            escaped = escaped.replacingOccurrences(of: character, with: entity)
        }
        #expect(try HTMLPage(run).text().contains("<code>\(escaped)</code>"))
        #expect(JUnit.text(run).contains(escaped) || JUnit.text(run).contains(row.line))
    }
}
