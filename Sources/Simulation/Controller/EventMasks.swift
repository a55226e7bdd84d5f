import Packets

/// Which events the host wants. Core Vol 4, Part E, 7.3.1, 7.3.69 and 7.8.1.
struct EventMasks {
    /// Bit n stands for event code n + 1.
    var page1: UInt64 = 0x0000_1FFF_FFFF_FFFF
    /// Bit n stands for event code n + 0x40.
    var page2: UInt64 = 0
    /// Bit n stands for LE subevent n + 1.
    var le: UInt64 = 0x1F

    /// Command Complete, Command Status and Number Of Completed Packets have no bit: they always pass, and so do a vendor's events.
    func pass(code: UInt8, subevent: UInt8?) -> Bool {
        switch code {
        case 0x0E, 0x0F, 0x13, 0xFF: true
        case 0x3E: page1 & 1 << 61 != 0 && subevent.map { $0 > 0 && $0 <= 64 && le & 1 << UInt64($0 - 1) != 0 } ?? false
        case 0x01...0x3F: page1 & 1 << UInt64(code - 1) != 0
        case 0x40...0x7F: page2 & 1 << UInt64(code - 0x40) != 0
        default: false
        }
    }
}
