import Testing

@testable import PDUGenerator

@Suite("Swift names of the specification's")
struct NamingTests {
    @Test(
        "Types",
        arguments: [
            ("LE_Set_PHY", "LESetPHY"), ("PHY_UPDATE_IND", "PHYUpdateInd"), ("EXCHANGE_MTU_REQ", "ExchangeMTUReq"),
            ("Set_MWS_PATTERN_Configuration", "SetMWSPatternConfiguration"), ("LE_Read_Buffer_Size [v2]", "LEReadBufferSizeV2"),
            ("ADV_NONCONN_IND", "ADVNonconnInd"), ("SET_AFH", "SetAFH"), ("ESCO_LINK_REQ", "EscoLinkReq"), ("DHKEY_CHECK", "DHKeyCheck"),
            ("Read_BD_ADDR", "ReadBDADDR"), ("LE_Generate_DHKey", "LEGenerateDHKey"),
            ("QoS_Setup_Complete", "QoSSetupComplete"), ("CISes", "CISes"),
        ])
    func types(_ name: String, _ swift: String) { #expect(Naming.type(name) == swift) }

    @Test(
        "Properties",
        arguments: [
            ("Connection_Handle", "connectionHandle"), ("TX_PHYs", "txPHYs"), ("TX_PHYS", "txPHYs"), ("PHYs", "phys"), ("PHYS", "phys"),
            ("CISes", "cises"), ("PHY_C_TO_P", "phyCToP"), ("SDU_Interval_C_To_P", "sduIntervalCToP"), ("SKD_C", "skdCentral"),
            ("IV_P", "ivPeripheral"), ("CRCInit", "crcInit"), ("CTETypeReq", "cteTypeReq"), ("MinCTELenReq", "minCTELenReq"),
            ("DHKey_Check", "dhKeyCheck"), ("LLData", "llData"), ("AType", "aType"), ("AA", "aa"), ("AdvA", "advA"), ("ChSel", "chSel"),
            ("T_SW_Time_Supported", "tSwTimeSupported"), ("T_FCS_Time", "tFcsTime"), ("CS_SYNC_PHY", "csSyncPHY"), ("C_192", "c192"),
            ("802_RX_Priority_Assert_Offset", "ieee802RXPriorityAssertOffset"), ("QoS_Violation", "qosViolation"), ("BD_ADDR", "bdADDR"),
            ("eSCO_Loopback_Mode", "eSCOLoopbackMode"), ("LL_CHANNEL_MAP_IND", "llChannelMapInd"), ("LE_2M_PHY", "le2MPHY"),
            ("LE_1M", "le1M"),
            ("ADV_DIRECT_IND_High_Duty", "advDirectIndHighDuty"), ("SCAN_RSP", "scanRsp"), ("RSSI", "rssi"), ("R", "r"),
        ])
    func properties(_ name: String, _ swift: String) { #expect(Naming.property(name) == swift) }

    @Test("Cases of a message", arguments: [("PHYUpdateInd", "phyUpdateInd"), ("ExchangeMTUReq", "exchangeMTUReq"), ("CISReq", "cisReq")])
    func cases(_ type: String, _ swift: String) { #expect(Naming.caseName(type) == swift) }

    @Test("One of several", arguments: [("Reports", "Report"), ("CISes", "CIS"), ("Entries", "Entry"), ("PHYs", "PHY")])
    func singular(_ name: String, _ one: String) { #expect(Naming.singular(name) == one) }

    @Test("Swift's own words are in backticks", arguments: [("Default", "`default`"), ("Handle", "handle")])
    func escaped(_ name: String, _ swift: String) { #expect(Naming.escaped(name) == swift) }
}
