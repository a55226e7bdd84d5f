/// Reduction of an encryption key to the negotiated length. Core Vol 2, Part H, 4.1 and 4.6.
public enum EncryptionKeyLength {
    /// Valid lengths of LMP_encryption_key_size_req, in octets.
    public static let range = 1...16

    /// g1 without its highest term, x to the power of 8 * length.
    private static let moduli: [UInt128] = [
        0x1D, 0x3F, 0xDB, 0xAF, 0x39, 0x291, 0x95, 0x1B, 0x609, 0x215, 0x13B, 0xDD, 0x49D, 0x14F, 0xE7, 0,
    ]
    /// g2, which expands the remainder to 128 bits.
    private static let multipliers: [UInt128] = [
        0xE2_75A0_ABD2_18D4_CF92_8B9B_BF6C_B08F, 0x1_E3F6_3D76_59B3_7F18_C258_CFF6_EFEF, 0x1BE_F66C_6C3A_B103_0A5A_1919_808B,
        0x1_6AB8_9969_DE17_467F_D373_6AD9, 0x163_0632_91DA_50EC_5571_5247, 0x2C93_52AA_6CC0_5446_8311, 0xB3_F7FF_FCE2_79F3_A073,
        0xA1AB_815B_C7EC_8025, 0x2_C980_11D8_B04D, 0x58E_24F9_A4BB, 0xC_A760_24D7, 0x1C9C_26B9, 0x26_D9E3, 0x4377, 0x89, 1,
    ]

    /// Kc': g2 times (Kc modulo g1). Nil for an invalid length.
    ///
    /// - Parameter key: Kc; the coefficient of x^n is bit n, so that octet 0 of LMP and HCI is the least significant.
    public static func reduced(_ key: UInt128, octets: Int) -> UInt128? {
        guard range.contains(octets) else { return nil }
        return product(remainder(key, length: 8 * octets, modulus: moduli[octets - 1]), multipliers[octets - 1])
    }

    private static func remainder(_ dividend: UInt128, length: Int, modulus: UInt128) -> UInt128 {
        guard length < 128 else { return dividend }
        var rest = dividend
        for bit in (length..<128).reversed() where rest >> UInt128(bit) & 1 == 1 {
            rest ^= (1 << UInt128(length) | modulus) << UInt128(bit - length)
        }
        return rest
    }

    private static func product(_ one: UInt128, _ other: UInt128) -> UInt128 {
        (0..<128).reduce(0) { one >> UInt128($1) & 1 == 1 ? $0 ^ other << UInt128($1) : $0 }
    }
}
