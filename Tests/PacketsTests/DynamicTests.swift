import Testing

@testable import BBPackets

@Suite struct DynamicTests {
    @Test("Built by names, counts follow")
    func build() throws {
        let pdu = try DynamicPDU(
            layer: .hciCommands, name: "HCI_LE_Set_Extended_Advertising_Data [v1]",
            [DynamicField("advertising_data", .octets([1, 2, 3])), DynamicField("Advertising_Handle", 1), DynamicField("Operation", 3)])
        #expect(
            try pdu.hciPacket()
                == HCIPacket(
                    command: HCICommands.LESetExtendedAdvertisingData(
                        advertisingHandle: 1, operation: .complete, advertisingData: [1, 2, 3])))
    }

    @Test("Wrong on purpose: counts, values, octets after the end")
    func wrong() throws {
        var pdu = try DynamicPDU(
            layer: .hciCommands, name: "LE_Set_Extended_Advertising_Data", [DynamicField("Advertising_Data", .octets([1, 2]))],
            trailing: [9])
        try pdu.set("Advertising_Data_Length", 200)
        try pdu.set("Operation", 0x77)
        #expect(try pdu.parameters() == [0, 0x77, 0, 200, 1, 2, 9])
        pdu.lengthInHeader = 3
        #expect(try pdu.bytes() == [0x37, 0x20, 3, 0, 0x77, 0, 200, 1, 2, 9])
        try pdu.set("Operation", 256)
        #expect(throws: DynamicPDUError.self) { try pdu.parameters() }
    }

    @Test("Misspelt names are told with what was meant")
    func suggestions() {
        #expect(
            throws: DynamicPDUError.unknownPDU(
                layer: .hciCommands, name: "LE_Set_PYH", suggestions: PDUCatalog.suggestions(layer: .hciCommands, for: "LE_Set_PYH"))
        ) {
            try DynamicPDU(layer: .hciCommands, name: "LE_Set_PYH")
        }
        #expect(PDUCatalog.suggestions(layer: .hciCommands, for: "LE_Set_PYH").first == "LE_Set_PHY")
        #expect(throws: DynamicPDUError.unknownField(pdu: "LE_Set_PHY", name: "TX_PHY", suggestions: ["TX_PHYs", "RX_PHYs"])) {
            try DynamicPDU(layer: .hciCommands, name: "LE_Set_PHY", [DynamicField("TX_PHY", 1)])
        }
    }

    @Test("Paths")
    func paths() {
        let event = HCIEvents.LEAdvertisingReport(reports: [
            .init(address: 1, data: [7]), .init(addressType: .randomDevice, address: 2, rssi: -40),
        ])
        let pdu = DynamicPDU(hci: HCIPacket(event: event))
        #expect(pdu["Num_Reports"] == 2)
        #expect(pdu["reports[1].rssi"] == -40)
        #expect(pdu["Address[1]"] == 2)
        #expect(pdu["Data[0]"] == .octets([7]))
        #expect(pdu["Address[2]"] == nil && pdu["Nothing"] == nil && pdu[""] == nil)
        #expect(pdu.declaration(at: "Address_Type[0]")?.type?.name == "AddressType")
        let complete = DynamicPDU(hci: HCIPacket(complete: HCICommands.LEReadPHY.self, .init(connectionHandle: 5, txPHY: 2)))
        #expect(complete["TX_PHY"] == 2 && complete.declaration(at: "TX_PHY")?.labels.count == 3)
    }

    struct Text: Sendable, CustomTestStringConvertible {
        var pdu: String
        var field: String
        var text: String
        var value: FieldValue?
        var testDescription: String { field + " " + text }
    }

    static let texts: [Text] = [
        Text(pdu: "LE_Set_PHY", field: "TX_PHYs", text: "LE_1M|LE_Coded", value: 5),
        Text(pdu: "LE_Set_PHY", field: "TX_PHYs", text: "0x07", value: 7),
        Text(pdu: "LE_Set_PHY", field: "TX_PHYs", text: "LE_3M", value: nil),
        Text(pdu: "LE_Set_PHY", field: "PHY_Options", text: "prefer_s8", value: 2),
        Text(pdu: "LE_Set_Random_Address", field: "Random_Address", text: "C0:11:22:33:44:55", value: .integer(0xC0_1122_3344_55)),
        Text(pdu: "LE_Set_Random_Address", field: "Random_Address", text: "C0:11:22", value: nil),
        Text(pdu: "Disconnect", field: "Reason", text: "Remote_User_Terminated_Connection", value: 0x13),
        Text(pdu: "LE_Set_Extended_Advertising_Data", field: "Advertising_Data", text: "02 01 06", value: .octets([2, 1, 6])),
        Text(pdu: "LE_Set_Extended_Advertising_Data", field: "Advertising_Data", text: "0201060", value: nil),
        Text(pdu: "LE_Set_Extended_Advertising_Parameters", field: "Advertising_TX_Power", text: "-20", value: -20),
    ]

    @Test("Values from text", arguments: texts)
    func values(_ text: Text) throws {
        let field = try #require(PDUCatalog.declaration(layer: .hciCommands, name: text.pdu)?.field(named: text.field))
        #expect(field.value(from: text.text) == text.value)
    }

    @Test("What is not known is kept and shown")
    func unknown() throws {
        let vendor = DynamicPDU(hci: HCIPacket(.command, [0x00, 0xFC, 2, 0xAA, 0xBB]))
        #expect(vendor.description == "Vendor_Command_0xFC00 +AABB")
        let short = DynamicPDU(layer: .l2capSignaling, bytes: [1, 2])
        #expect(try short.bytes() == [1, 2] && short.problem != nil)
        let signal = DynamicPDU(layer: .l2capSignaling, bytes: [0x12, 7, 8, 0, 6, 0, 6, 0, 0, 0, 100, 0])
        #expect(signal.identifier == 7 && signal.description.contains("Interval_Min=6 (7.5 ms)"))
        #expect(ErrorCode(0x13).description == "Remote_User_Terminated_Connection" && ErrorCode(0xEE).description == "0xEE")
    }
}
