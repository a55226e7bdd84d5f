import BBTiming

/// Access addresses of connections. Core Vol 6, Part B, 2.1.2.
enum AccessAddress {
    static func random(_ random: inout RandomSource) -> UInt32 {
        while true {
            let candidate = UInt32(truncatingIfNeeded: random.next() >> 16)
            if isValid(candidate) { return candidate }
        }
    }

    static func isValid(_ address: UInt32) -> Bool {
        guard address != advertisingAccessAddress, (address ^ advertisingAccessAddress).nonzeroBitCount > 1 else { return false }
        let octet = address & 0xFF
        guard address != octet &* 0x0101_0101, longestRun(address) <= 6 else { return false }
        guard transitions(address, bits: 32) <= 24, transitions(address >> 26, bits: 6) >= 2 else { return false }
        return (address & 0xFF).nonzeroBitCount >= 3 && transitions(address & 0xFFFF, bits: 16) <= 11
    }

    private static func transitions(_ value: UInt32, bits: Int) -> Int {
        let mask: UInt32 = (1 << UInt32(bits - 1)) - 1
        return ((value ^ value >> 1) & mask).nonzeroBitCount
    }

    private static func longestRun(_ value: UInt32) -> Int {
        var longest = 1
        var run = 1
        for bit in 1..<32 {
            run = (value >> UInt32(bit) ^ value >> UInt32(bit - 1)) & 1 == 0 ? run + 1 : 1
            longest = max(longest, run)
        }
        return longest
    }
}
