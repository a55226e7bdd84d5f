import BBPackets

/// Codec specific information elements of SBC: capabilities of an end point, or a configuration with one choice each. A2DP 1.3, 4.3.2.
public struct SBCCapabilities: Sendable, Hashable {
    public struct Choices: OptionSet, Sendable, Hashable {
        public var rawValue: UInt8
        public init(rawValue: UInt8) { self.rawValue = rawValue }

        // Octet 0: sampling frequency and channel mode.
        public static let hz16000 = Choices(rawValue: 0x80)
        public static let hz32000 = Choices(rawValue: 0x40)
        public static let hz44100 = Choices(rawValue: 0x20)
        public static let hz48000 = Choices(rawValue: 0x10)
        public static let mono = Choices(rawValue: 0x08)
        public static let dualChannel = Choices(rawValue: 0x04)
        public static let stereo = Choices(rawValue: 0x02)
        public static let jointStereo = Choices(rawValue: 0x01)
        // Octet 1: block length, subbands and allocation method.
        public static let blocks4 = Choices(rawValue: 0x80)
        public static let blocks8 = Choices(rawValue: 0x40)
        public static let blocks12 = Choices(rawValue: 0x20)
        public static let blocks16 = Choices(rawValue: 0x10)
        public static let subbands4 = Choices(rawValue: 0x08)
        public static let subbands8 = Choices(rawValue: 0x04)
        public static let snr = Choices(rawValue: 0x02)
        public static let loudness = Choices(rawValue: 0x01)

        static let frequencies: Choices = [.hz16000, .hz32000, .hz44100, .hz48000]
        static let modes: Choices = [.mono, .dualChannel, .stereo, .jointStereo]
        static let blocks: Choices = [.blocks4, .blocks8, .blocks12, .blocks16]
        static let subbands: Choices = [.subbands4, .subbands8]
        static let allocations: Choices = [.snr, .loudness]

        fileprivate var isOne: Bool { rawValue.nonzeroBitCount == 1 }
    }

    /// Number of the codec. Assigned Numbers, 6.5.
    public static let codecType: UInt8 = 0
    public static let octetCount = 4

    /// Frequencies and modes.
    public var signal: Choices
    /// Blocks, subbands and allocation methods.
    public var coding: Choices
    public var minimumBitpool: UInt8
    public var maximumBitpool: UInt8

    public init(_ signal: Choices, _ coding: Choices, bitpool: ClosedRange<UInt8>) {
        (self.signal, self.coding) = (signal, coding)
        (minimumBitpool, maximumBitpool) = (bitpool.lowerBound, bitpool.upperBound)
    }

    /// Mandatory capabilities of a sink, with the high quality bitpool. A2DP 1.3, tables 4.2 and 4.7.
    public static let sink = SBCCapabilities([.frequencies, .modes], [.blocks, .subbands, .allocations], bitpool: 2...53)
    /// Default capabilities of the encoder.
    public static let source = SBCCapabilities(
        [.hz44100, .hz48000, .modes], [.blocks, .subbands, .allocations], bitpool: 2...53)

    init?(_ octets: [UInt8]) {
        guard octets.count == Self.octetCount else { return nil }
        (signal, coding) = (Choices(rawValue: octets[0]), Choices(rawValue: octets[1]))
        (minimumBitpool, maximumBitpool) = (octets[2], octets[3])
    }

    public var octets: [UInt8] { [signal.rawValue, coding.rawValue, minimumBitpool, maximumBitpool] }

    /// Error code if a configuration is not supported; nil if it is. A2DP 1.3, 5.1.3.
    public func objection(to setting: SBCCapabilities) -> AVDTPReason? {
        let choices: [(Choices, Choices, Choices, invalid: AVDTPReason, notSupported: AVDTPReason)] = [
            (.frequencies, setting.signal, signal, .invalidSamplingFrequency, .notSupportedSamplingFrequency),
            (.modes, setting.signal, signal, .invalidChannelMode, .notSupportedChannelMode),
            (.blocks, setting.coding, coding, .invalidBlockLength, .invalidBlockLength),
            (.subbands, setting.coding, coding, .invalidSubbands, .notSupportedSubbands),
            (.allocations, setting.coding, coding, .invalidAllocationMethod, .notSupportedAllocationMethod),
        ]
        for (group, wanted, own, invalid, notSupported) in choices {
            let choice = wanted.intersection(group)
            guard choice.isOne else { return invalid }
            guard own.contains(choice) else { return notSupported }
        }
        if setting.minimumBitpool < 2 || setting.minimumBitpool > 250 { return .invalidMinimumBitpool }
        if setting.maximumBitpool < setting.minimumBitpool || setting.maximumBitpool > 250 { return .invalidMaximumBitpool }
        if setting.minimumBitpool < minimumBitpool { return .notSupportedMinimumBitpool }
        if setting.maximumBitpool > maximumBitpool { return .notSupportedMaximumBitpool }
        return nil
    }

    /// The best configuration that both devices support; nil if there is none.
    public func setting(with other: SBCCapabilities) -> SBCCapabilities? {
        func best(_ own: Choices, _ others: Choices, _ order: [Choices]) -> Choices? {
            order.first { own.contains($0) && others.contains($0) }
        }
        guard let frequency = best(signal, other.signal, [.hz44100, .hz48000, .hz32000, .hz16000]),
            let mode = best(signal, other.signal, [.jointStereo, .stereo, .dualChannel, .mono]),
            let blocks = best(coding, other.coding, [.blocks16, .blocks12, .blocks8, .blocks4]),
            let subbands = best(coding, other.coding, [.subbands8, .subbands4]),
            let allocation = best(coding, other.coding, [.loudness, .snr])
        else { return nil }
        let low = max(minimumBitpool, other.minimumBitpool, 2)
        let high = min(maximumBitpool, other.maximumBitpool, 250)
        guard low <= high else { return nil }
        return SBCCapabilities([frequency, mode], [blocks, subbands, allocation], bitpool: low...high)
    }
}
