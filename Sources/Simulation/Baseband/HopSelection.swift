/// The hop selection kernel for 79 channels. Core Vol 2, Part B, 2.6.2 to 2.6.4.
public enum HopSelection {
    /// Bit pairs exchanged by the butterflies of PERM5, by control bit.
    private static let butterflies: [(Int, Int)] = [
        (0, 1), (2, 3), (1, 2), (3, 4), (0, 4), (1, 3), (0, 2), (3, 4), (1, 4), (0, 3), (2, 4), (1, 3), (0, 3), (1, 2),
    ]

    /// Inputs of the kernel, named as in the specification's figure.
    private struct Inputs {
        var x: Int
        /// Y1; Y2 is 32 * Y1.
        var y: Int
        var a, b, c, d, e: Int

        /// Inputs that depend only on the address.
        ///
        /// - Parameter address: UAP and LAP, 28 bits.
        init(phase: Int, isResponse: Bool, address: UInt32) {
            let address = Int(address)
            x = phase & 31
            y = isResponse ? 1 : 0
            a = address >> 23 & 0x1F
            b = address >> 19 & 0xF
            c = HopSelection.everySecondBit(of: address, count: 5)
            d = address >> 10 & 0x1FF
            e = HopSelection.everySecondBit(of: address >> 1, count: 7)
        }

        /// Inputs in the connection state, which also depend on the clock.
        init(clock: UInt32, address: UInt32) {
            self.init(phase: Int(clock >> 2), isResponse: clock >> 1 & 1 == 1, address: address)
            a ^= Int(clock >> 21 & 0x1F)
            c ^= Int(clock >> 16 & 0x1F)
            d ^= Int(clock >> 7 & 0x1FF)
        }

        /// Index into a register bank with `count` channels.
        func position(of count: Int, f: Int) -> Int {
            let permuted = HopSelection.permute((x + a) & 31 ^ b, control: d | (c ^ (y == 1 ? 0x1F : 0)) << 9)
            return (permuted + e + f % count + 32 * y) % count
        }
    }

    /// Number of RF channels.
    static let channels = 79

    /// The register bank lists the even channels first.
    private static func channel(at position: Int) -> UInt8 { UInt8(position * 2 % channels) }

    /// The RF channel for a phase of inquiry, page or scan.
    ///
    /// - Parameters:
    ///   - phase: X, 0...31.
    ///   - isResponse: Y1.
    ///   - address: UAP and LAP, 28 bits.
    public static func rfChannel(phase: Int, isResponse: Bool, address: UInt32) -> UInt8 {
        channel(at: Inputs(phase: phase, isResponse: isResponse, address: address).position(of: channels, f: 0))
    }

    /// The RF channel of a slot in the basic channel hopping sequence. Core Vol 2, Part B, 2.6.4.7.
    ///
    /// - Parameters:
    ///   - clock: CLK, 28 bits that count half slots.
    ///   - address: UAP and LAP of the central, 28 bits.
    public static func basicChannel(clock: UInt32, address: UInt32) -> UInt8 {
        channel(at: Inputs(clock: clock, address: address).position(of: channels, f: offset(clock)))
    }

    /// The RF channel of a slot in the adapted channel hopping sequence. The peripheral replies on the channel of the central's packet, and
    /// unused channels are remapped. Core Vol 2, Part B, 2.6.3 and 2.6.4.7.
    ///
    /// - Parameters:
    ///   - clock: CLK, 28 bits that count half slots.
    ///   - address: UAP and LAP of the central, 28 bits.
    public static func adaptedChannel(clock: UInt32, address: UInt32, map: AdaptedChannelMap) -> UInt8 {
        let clock = clock & ~2
        let inputs = Inputs(clock: clock, address: address)
        let channel = channel(at: inputs.position(of: channels, f: offset(clock)))
        if map.contains(channel) { return channel }
        return map.used[inputs.position(of: map.used.count, f: offset(clock))]
    }

    /// F: 16 times CLK27-7.
    private static func offset(_ clock: UInt32) -> Int { 16 * Int(clock >> 7 & 0x1F_FFFF) }

    private static func everySecondBit(of value: Int, count: Int) -> Int {
        (0..<count).reduce(0) { $0 | (value >> (2 * $1) & 1) << $1 }
    }

    /// PERM5: applies the butterfly of the highest control bit first.
    private static func permute(_ value: Int, control: Int) -> Int {
        var value = value
        for (index, pair) in butterflies.enumerated().reversed() where control >> index & 1 == 1 {
            let difference = (value >> pair.0 ^ value >> pair.1) & 1
            value ^= difference << pair.0 | difference << pair.1
        }
        return value
    }
}

/// Channels used by an adapted hopping sequence: AFH_Channel_Map. Core Vol 2, Part B, 2.3.
public struct AdaptedChannelMap: Sendable, Hashable {
    /// N_min: minimum number of used channels. Core Vol 2, Part B, 2.3.1.
    public static let leastChannels = 20
    public static let all = AdaptedChannelMap(checked: 1 << UInt128(HopSelection.channels) - 1)

    /// Used channels: bit n is RF channel n.
    public let mask: UInt128
    /// Mapping table of the adapted kernel: used even channels, then used odd channels, each in ascending order.
    let used: [UInt8]

    /// Returns nil if fewer than N_min channels are used or a bit beyond channel 78 is set.
    public init?(_ mask: UInt128) {
        guard mask >> UInt128(HopSelection.channels) == 0, mask.nonzeroBitCount >= Self.leastChannels else { return nil }
        self.init(checked: mask)
    }

    private init(checked mask: UInt128) {
        self.mask = mask
        let even = stride(from: UInt8(0), to: 79, by: 2)
        let odd = stride(from: UInt8(1), to: 79, by: 2)
        used = (Array(even) + odd).filter { mask >> UInt128($0) & 1 == 1 }
    }

    public func contains(_ channel: UInt8) -> Bool { mask >> UInt128(channel) & 1 == 1 }
}
