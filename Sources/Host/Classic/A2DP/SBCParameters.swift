import BBPackets

/// Coding parameters of an SBC frame. A2DP 1.3, 12.5 and 12.6.
public struct SBCParameters: Sendable, Hashable {
    public enum ChannelMode: UInt8, Sendable, CaseIterable {
        case mono = 0
        case dualChannel, stereo, jointStereo

        public var channels: Int { self == .mono ? 1 : 2 }
        /// True if both channels share one bitpool.
        var sharesBitpool: Bool { self == .stereo || self == .jointStereo }
    }

    public enum Allocation: UInt8, Sendable, CaseIterable {
        case loudness = 0
        case snr
    }

    /// 16000, 32000, 44100 or 48000 Hz.
    public let frequency: Int
    /// 4, 8, 12 or 16.
    public let blocks: Int
    public let mode: ChannelMode
    public let allocation: Allocation
    /// 4 or 8.
    public let subbands: Int
    /// 2...250, at most 16 times the number of subbands per channel.
    public let bitpool: Int

    static let frequencies = [16_000, 32_000, 44_100, 48_000]

    /// Returns nil for parameters that the format cannot express. A2DP 1.3, 12.9.
    public init?(frequency: Int, blocks: Int, mode: ChannelMode, allocation: Allocation, subbands: Int, bitpool: Int) {
        guard Self.frequencies.contains(frequency), [4, 8, 12, 16].contains(blocks), subbands == 4 || subbands == 8, bitpool >= 2,
            bitpool <= min(250, 16 * subbands * (mode.sharesBitpool ? 2 : 1))
        else { return nil }
        (self.frequency, self.blocks, self.mode) = (frequency, blocks, mode)
        (self.allocation, self.subbands, self.bitpool) = (allocation, subbands, bitpool)
    }

    /// Modified SBC (mSBC), the codec of wide band speech: 15 blocks, which an SBC header cannot express. HFP 1.8, appendix A.
    static let modified = SBCParameters()

    private init() { (frequency, blocks, mode, allocation, subbands, bitpool) = (16_000, 15, .mono, .loudness, 8, 26) }

    /// Parameters of a configuration, with its maximum bitpool.
    public init?(_ setting: SBCCapabilities) {
        guard SBCCapabilities.all.objection(to: setting) == nil else { return nil }
        func value<Value>(_ choices: SBCCapabilities.Choices, _ table: [(SBCCapabilities.Choices, Value)]) -> Value? {
            table.first { choices.contains($0.0) }?.1
        }
        guard let frequency = value(setting.signal, [(.hz16000, 16_000), (.hz32000, 32_000), (.hz44100, 44_100), (.hz48000, 48_000)]),
            let mode = value(
                setting.signal, [(.mono, ChannelMode.mono), (.dualChannel, .dualChannel), (.stereo, .stereo), (.jointStereo, .jointStereo)]),
            let blocks = value(setting.coding, [(.blocks4, 4), (.blocks8, 8), (.blocks12, 12), (.blocks16, 16)]),
            let subbands = value(setting.coding, [(.subbands4, 4), (.subbands8, 8)]),
            let allocation = value(setting.coding, [(.snr, Allocation.snr), (.loudness, .loudness)])
        else { return nil }
        let limit = 16 * subbands * (mode.sharesBitpool ? 2 : 1)
        self.init(
            frequency: frequency, blocks: blocks, mode: mode, allocation: allocation, subbands: subbands,
            bitpool: min(Int(setting.maximumBitpool), limit))
    }

    /// Samples per channel in a frame.
    public var samples: Int { blocks * subbands }

    /// Frame length in octets. A2DP 1.3, 12.9.
    public var frameLength: Int {
        let channels = mode.channels
        let join = mode == .jointStereo ? subbands : 0
        let bits = blocks * bitpool * (mode.sharesBitpool ? 1 : channels)
        return 4 + 4 * subbands * channels / 8 + (join + bits + 7) / 8
    }

    /// Bits per second.
    public var bitRate: Int { 8 * frameLength * frequency / samples }

    static let syncword: UInt8 = 0x9C
    static let modifiedSyncword: UInt8 = 0xAD

    /// The three octets before the CRC.
    var header: [UInt8] {
        if self == .modified { return [Self.modifiedSyncword, 0, 0] }
        let frequencyIndex = UInt8(Self.frequencies.firstIndex(of: frequency) ?? 0)
        let second = frequencyIndex << 6 | UInt8(blocks / 4 - 1) << 4 | mode.rawValue << 2 | allocation.rawValue << 1
        return [Self.syncword, second | (subbands == 8 ? 1 : 0), UInt8(bitpool)]
    }

    /// Parses the header of a frame.
    public init?(frame: some Collection<UInt8>) {
        let octets = Array(frame.prefix(3))
        guard octets.count == 3, octets[0] == Self.syncword, let mode = ChannelMode(rawValue: octets[1] >> 2 & 3),
            let allocation = Allocation(rawValue: octets[1] >> 1 & 1)
        else { return nil }
        self.init(
            frequency: Self.frequencies[Int(octets[1] >> 6)], blocks: 4 * (Int(octets[1] >> 4 & 3) + 1), mode: mode,
            allocation: allocation, subbands: octets[1] & 1 == 1 ? 8 : 4, bitpool: Int(octets[2]))
    }
}

extension SBCCapabilities {
    /// All values that the format can express.
    static let all = SBCCapabilities([.frequencies, .modes], [.blocks, .subbands, .allocations], bitpool: 2...250)
}

/// CRC of a frame: x^8 + x^4 + x^3 + x^2 + 1, initial value 0x0F, most significant bit first. A2DP 1.3, 12.6.1.1.
struct SBCCheck: Sendable {
    private(set) var value: UInt8 = 0x0F

    mutating func add(_ number: Int, bits: Int) {
        for shift in (0..<bits).reversed() {
            let isSet = value >> 7 != UInt8(truncatingIfNeeded: number >> shift) & 1
            value = value << 1 ^ (isSet ? 0x1D : 0)
        }
    }
}
