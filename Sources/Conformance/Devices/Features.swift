/// LE features by the names that case files use. Core Vol 6, Part B, 4.6.
enum Features {
    static let bits: [(bit: Int, name: String)] = [
        (0, "LE_Encryption"), (1, "Connection_Parameters_Request"), (2, "Extended_Reject_Indication"), (3, "Peripheral_Initiated_Features"),
        (4, "LE_Ping"), (5, "LE_Data_Packet_Length_Extension"), (6, "LL_Privacy"), (7, "Extended_Scanner_Filter_Policies"),
        (8, "LE_2M_PHY"), (9, "Stable_Modulation_Index_Transmitter"), (10, "Stable_Modulation_Index_Receiver"), (11, "LE_Coded_PHY"),
        (12, "LE_Extended_Advertising"), (13, "LE_Periodic_Advertising"), (14, "Channel_Selection_Algorithm_2"), (15, "LE_Power_Class_1"),
        (16, "Minimum_Number_of_Used_Channels"), (17, "Connection_CTE_Request"), (18, "Connection_CTE_Response"),
        (24, "Periodic_Advertising_Sync_Transfer_Sender"), (25, "Periodic_Advertising_Sync_Transfer_Recipient"),
        (26, "Sleep_Clock_Accuracy_Updates"), (27, "Remote_Public_Key_Validation"), (28, "Connected_Isochronous_Stream_Central"),
        (29, "Connected_Isochronous_Stream_Peripheral"), (33, "LE_Power_Control_Request"), (35, "LE_Path_Loss_Monitoring"),
        (37, "Connection_Subrating"), (39, "Channel_Classification"),
    ]

    /// Support for BR/EDR, read from the LMP features.
    static let classic = "BR_EDR"

    static let names: Set<String> = Set(bits.map(\.name) + [classic])

    static func names(in mask: UInt64) -> [String] { bits.filter { mask >> UInt64($0.bit) & 1 == 1 }.map(\.name) }
}
