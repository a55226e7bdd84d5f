/// The hop selection kernel for 79 channels, as inquiry uses it. Core Vol 2, Part B, 2.6.2 and 2.6.3.
enum HopSelection {
    /// The pairs of bits that PERM5's butterflies exchange, by control bit.
    private static let butterflies: [(Int, Int)] = [
        (0, 1), (2, 3), (1, 2), (3, 4), (0, 4), (1, 3), (0, 2), (3, 4), (1, 4), (0, 3), (2, 4), (1, 3), (0, 3), (1, 2),
    ]

    /// The RF channel of a phase.
    ///
    /// - Parameters:
    ///   - phase: X, 0...31.
    ///   - isResponse: Y1.
    ///   - address: the 28 low bits of an address, UAP above LAP.
    static func rfChannel(phase: Int, isResponse: Bool, address: UInt32) -> UInt8 {
        let address = Int(address)
        let (a, b) = (address >> 23 & 0x1F, address >> 19 & 0xF)
        let c = everySecondBit(of: address, count: 5) ^ (isResponse ? 0x1F : 0)
        let (d, e) = (address >> 10 & 0x1FF, everySecondBit(of: address >> 1, count: 7))
        let permuted = permute((phase + a) & 31 ^ b, control: d | c << 9)
        // The register bank holds the even channels first.
        return UInt8((permuted + e + (isResponse ? 32 : 0)) % 79 * 2 % 79)
    }

    private static func everySecondBit(of value: Int, count: Int) -> Int {
        (0..<count).reduce(0) { $0 | (value >> (2 * $1) & 1) << $1 }
    }

    /// PERM5: the butterfly of the highest control bit comes first.
    private static func permute(_ value: Int, control: Int) -> Int {
        var value = value
        for (index, pair) in butterflies.enumerated().reversed() where control >> index & 1 == 1 {
            let difference = (value >> pair.0 ^ value >> pair.1) & 1
            value ^= difference << pair.0 | difference << pair.1
        }
        return value
    }
}
