import Testing

@testable import BBPackets

@Suite("PDUs of Core 6.0 to 6.2")
struct Core6Tests {
    struct Row: Sendable, CustomTestStringConvertible {
        var layer: Layer
        var octets: String
        var line: String
        var testDescription: String { line }
    }

    static let rows = [
        // Core Vol 4, Part E, 7.8.45, 7.8.146 to 7.8.150, 7.8.152 and 7.8.153.
        Row(
            layer: .hciCommands, octets: "98200A01060504030201A0C41E",
            line:
                "LE_Add_Device_To_Monitored_Advertisers_List Address_Type=Random_Device Address=01:02:03:04:05:06 (random) RSSI_Low_Threshold=-96 dBm RSSI_High_Threshold=-60 dBm Timeout=30 s"
        ),
        Row(
            layer: .hciCommands, octets: "99200700060504030201",
            line: "LE_Remove_Device_From_Monitored_Advertisers_List Address_Type=Public_Device Address=01:02:03:04:05:06"),
        Row(layer: .hciCommands, octets: "9A2000", line: "LE_Clear_Monitored_Advertisers_List"),
        Row(layer: .hciCommands, octets: "9B2000", line: "LE_Read_Monitored_Advertisers_List_Size"),
        Row(layer: .hciCommands, octets: "9C200101", line: "LE_Enable_Monitoring_Advertisers Enable=Enabled"),
        Row(
            layer: .hciCommands, octets: "9E2004E0018403",
            line: "LE_Set_Resolvable_Private_Address_Timeout [v2] RPA_Timeout_Min=480 s RPA_Timeout_Max=900 s"),
        Row(layer: .hciCommands, octets: "9F200101", line: "LE_Enable_UTP_OTA_Mode Enable=Enabled"),
        Row(layer: .hciCommands, octets: "A0200302AABB", line: "LE_UTP_Send UTP_Data_Length=2 octets UTP_Data=AABB"),
        // Core Vol 4, Part E, 7.7.65.49.
        Row(layer: .hciEvents, octets: "3E043602AABB", line: "LE_UTP_Receive UTP_Data_Length=2 octets UTP_Data=AABB"),
        // Core Vol 6, Part B, 2.4.2.42, 2.4.2.46, 2.4.2.50 to 2.4.2.58.
        Row(
            layer: .llControl, octets: "390100000000000000020000000300000000000000",
            line: "LL_CS_SEC_REQ CS_IV_C=0x0000000000000001 CS_IN_C=2 CS_PV_C=0x0000000000000003"),
        Row(layer: .llControl, octets: "3102", line: "LL_CS_CONFIG_RSP Config_ID=2 RFU=0"),
        Row(layer: .llControl, octets: "36", line: "LL_CS_FAE_REQ"),
        // Core Vol 6, Part B, 2.4.2.33 and 2.4.2.35: a change may be told for several PHYs, a request is about one.
        Row(layer: .llControl, octets: "23047F7E", line: "LL_POWER_CONTROL_REQ PHY=LE_Coded_S8 Delta=Maximum TxPower=Not_Managed"),
        Row(
            layer: .llControl, octets: "250301FEF6",
            line: "LL_POWER_CHANGE_IND PHY=LE_1M|LE_2M Min=1 Max=0 RFU=0 Delta=-2 dB TxPower=-10 dBm"),
        Row(
            layer: .llControl, octets: "3A01050013",
            line: "LL_CS_TERMINATE_RSP Config_ID=1 RFU=0 ProcCount=5 ErrorCode=Remote_User_Terminated_Connection"),
        Row(
            layer: .llControl, octets: "3B34009600010100",
            line: "LL_FRAME_SPACE_REQ FS_Min=52 us FS_Max=150 us PHYS=LE_1M Spacing_Types=1"),
        Row(layer: .llControl, octets: "3C3400020100", line: "LL_FRAME_SPACE_RSP FS=52 us PHYS=LE_2M Spacing_Types=1"),
        Row(layer: .llControl, octets: "3D07AABBCC", line: "LL_OTA_UTP_IND Transaction_ID=7 UTP_Message=AABBCC"),
        Row(
            layer: .llControl, octets: "3F0000030010000100000000000A00",
            line:
                "LL_CONNECTION_RATE_IND WinOffset=0 (0 ms) Interval=3 (0.375 ms) Instant=16 events SubrateFactor=1 Latency=0 events ContinuationNumber=0 Timeout=10 (100 ms)"
        ),
    ]

    @Test("They are read and written", arguments: rows)
    func lines(_ row: Row) throws {
        let octets = try #require(Hex.parse(row.octets))
        let read = DynamicPDU(layer: row.layer, bytes: octets)
        #expect(read.description == row.line)
        #expect(try read.bytes() == octets)
    }

    /// Core Vol 6, Part B, 2.4.2.41 to 2.4.2.58: octets of CtrData.
    @Test(
        "Their sizes",
        arguments: [
            ("LL_FEATURE_EXT_REQ", 26), ("LL_FEATURE_EXT_RSP", 26), ("LL_CS_SEC_REQ", 20), ("LL_CS_SEC_RSP", 20),
            ("LL_CS_CAPABILITIES_REQ", 25), ("LL_CS_CAPABILITIES_RSP", 25), ("LL_CS_CONFIG_REQ", 27), ("LL_CS_CONFIG_RSP", 1),
            ("LL_CS_REQ", 28), ("LL_CS_RSP", 21), ("LL_CS_IND", 18), ("LL_CS_TERMINATE_REQ", 4), ("LL_CS_FAE_RSP", 72),
            ("LL_CS_CHANNEL_MAP_IND", 12), ("LL_FRAME_SPACE_REQ", 7), ("LL_FRAME_SPACE_RSP", 5), ("LL_CONNECTION_RATE_REQ", 26),
            ("LL_CONNECTION_RATE_IND", 14), ("LL_CIS_REQ", 35),
        ])
    func sizes(_ name: String, _ octets: Int) throws {
        #expect(try DynamicPDU(layer: .llControl, name: name).parameters().count == octets)
    }

    @Test("The masks have the events of 5.4 to 6.2. Core Vol 4, Part E, 7.8.1")
    func masks() {
        let names = PDUCatalog.type(named: "LEEventMask")?.values.map(\.value) ?? []
        #expect(Set(names) == Set(0...55))
        #expect(LEEventMask.covering([HCIEvents.LEUTPReceive.self]).rawValue == 1 << 53)
        #expect(PDUCatalog.type(named: "LEFeaturesPage1")?.name(of: 1) == "Frame_Space_Update")
        #expect(PDUCatalog.event(code: 0x48, subevent: nil)?.section == "Core Vol 4, Part E, 7.7.59")
    }
}
