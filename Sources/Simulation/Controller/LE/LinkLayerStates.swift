import BBPackets

/// Link layer states and combinations in LE_Read_Supported_States. Core Vol 4, Part E, 7.8.27.
enum LinkLayerStates {
    /// All defined bits.
    private static let all: UInt64 = 0x03FF_FFFF_FFFF
    /// Bits that involve advertising or the peripheral role, which starts with advertising.
    private static let advertising: UInt64 = 0x03FF_EC3F_FF8F
    private static let scanning: UInt64 = 0x0000_CFC0_FF30
    /// Bits that involve initiating or the central role, which starts with initiating.
    private static let initiating: UInt64 = 0x023F_13CF_0040

    /// States that a controller with these commands supports.
    static func supported(by table: CommandTable) -> UInt64 {
        func has(_ opcodes: UInt16...) -> Bool { opcodes.contains { table.rows[$0] != nil } }
        var states = all
        if !has(HCICommands.LESetAdvertisingEnable.opcode, HCICommands.LESetExtendedAdvertisingEnable.opcode) { states &= ~advertising }
        if !has(HCICommands.LESetScanEnable.opcode, HCICommands.LESetExtendedScanEnable.opcode) { states &= ~scanning }
        if !has(HCICommands.LECreateConnection.opcode, HCICommands.LEExtendedCreateConnection.opcode) { states &= ~initiating }
        return states
    }
}
