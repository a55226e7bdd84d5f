/// The sync word of an access code: 30 information bits and 34 parity bits, scrambled. Core Vol 2, Part B, 6.3.3.
public enum SyncWord {
    /// Generator polynomial, 260534236651 octal.
    private static let generator: UInt64 = 0o2605_3423_6651
    private static let scrambler: UInt64 = 0x8384_8D96_BBCC_54FC

    /// - Returns: the sync word, first transmitted bit in the least significant position.
    public static func of(lap: UInt32) -> UInt64 {
        let barker: UInt64 = lap >> 23 & 1 == 1 ? 0b01_0011 : 0b10_1100
        let information = (barker << 24 | UInt64(lap & 0xFF_FFFF)) ^ scrambler >> 34
        var remainder = information << 34
        for bit in (34...63).reversed() where remainder >> UInt64(bit) & 1 == 1 { remainder ^= generator << UInt64(bit - 34) }
        return (information << 34 | remainder) ^ scrambler
    }
}

/// The access code, which identifies the intended receivers of a packet. Core Vol 2, Part B, 6.3.
public enum AccessCode {
    /// Preamble, sync word and trailer: 72 bits, first transmitted bit in the least significant position. The lowest 68 bits are the code
    /// without trailer.
    ///
    /// The alternating bits of preamble and trailer continue into the first bit and from the last bit of the sync word.
    public static func of(lap: UInt32) -> UInt128 {
        let word = SyncWord.of(lap: lap)
        let preamble: UInt128 = word & 1 == 1 ? 0b0101 : 0b1010
        let trailer: UInt128 = word >> 63 == 1 ? 0b1010 : 0b0101
        return preamble | UInt128(word) << 4 | trailer << 68
    }
}

/// The header error check: x^8 + x^7 + x^5 + x^2 + x + 1 over the ten bits of a packet header. Core Vol 2, Part B, 7.1.1.
public enum HeaderErrorCheck {
    /// - Returns: the HEC, first transmitted bit in the least significant position.
    public static func of(_ header: UInt32, uap: UInt8) -> UInt8 {
        var register = uap
        for bit in 0..<10 {
            let feedback = UInt32(register >> 7) ^ (header >> UInt32(bit) & 1)
            register = register << 1 ^ (feedback == 1 ? 0xA7 : 0)
        }
        return (0..<8).reduce(0) { $0 | (register >> UInt8(7 - $1) & 1) << UInt8($1) }
    }
}

/// The CRC of a BR/EDR payload: x^16 + x^12 + x^5 + 1. Core Vol 2, Part B, 7.1.2.
public enum CRC16 {
    /// The two CRC octets in transmission order.
    public static func of(_ octets: some Sequence<UInt8>, uap: UInt8) -> [UInt8] {
        // The register is mirrored, so that octets enter in transmission order.
        var register: UInt16 = 0
        for bit in 0..<8 where uap >> UInt8(bit) & 1 == 1 { register |= 1 << UInt16(15 - bit) }
        for octet in octets {
            register ^= UInt16(octet)
            for _ in 0..<8 { register = register & 1 == 1 ? register >> 1 ^ 0x8408 : register >> 1 }
        }
        return [UInt8(truncatingIfNeeded: register), UInt8(truncatingIfNeeded: register >> 8)]
    }
}
