import Packets

/// The states of the link layer and their combinations, as LE_Read_Supported_States has them. Core Vol 4, Part E, 7.8.27.
enum LinkLayerStates {
    /// Every one that has a bit.
    private static let all: UInt64 = 0x03FF_FFFF_FFFF
    /// Those with advertising, and with the peripheral role, which begins with it.
    private static let advertising: UInt64 = 0x03FF_EC3F_FF8F
    private static let scanning: UInt64 = 0x0000_CFC0_FF30
    /// Those with initiating, and with the central role, which begins with it.
    private static let initiating: UInt64 = 0x023F_13CF_0040

    /// What a controller with these commands can be in.
    static func supported(by table: CommandTable) -> UInt64 {
        func has(_ opcodes: UInt16...) -> Bool { opcodes.contains { table.rows[$0] != nil } }
        var states = all
        if !has(HCICommands.LESetAdvertisingEnable.opcode, HCICommands.LESetExtendedAdvertisingEnable.opcode) { states &= ~advertising }
        if !has(HCICommands.LESetScanEnable.opcode, HCICommands.LESetExtendedScanEnable.opcode) { states &= ~scanning }
        if !has(HCICommands.LECreateConnection.opcode, HCICommands.LEExtendedCreateConnection.opcode) { states &= ~initiating }
        return states
    }
}
