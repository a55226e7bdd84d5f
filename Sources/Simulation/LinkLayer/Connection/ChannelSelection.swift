/// Data channel of each connection event. Core Vol 6, Part B, 4.5.8.
enum ChannelSelection {
    case algorithm1(ChannelSelectionAlgorithm1)
    case algorithm2(ChannelSelectionAlgorithm2)

    /// - Parameter event: event number, from 0, without wrapping.
    func channel(event: Int, map: ChannelMap) -> ChannelIndex {
        switch self {
        case .algorithm1(let algorithm): algorithm.channel(event: event, map: map)
        case .algorithm2(let algorithm): algorithm.channel(counter: UInt16(truncatingIfNeeded: event), map: map)
        }
    }
}

/// Channel selection algorithm #1: a fixed hop increment. Core Vol 6, Part B, 4.5.8.2.
struct ChannelSelectionAlgorithm1 {
    private let hopIncrement: Int

    init(hopIncrement: UInt8) { self.hopIncrement = Int(hopIncrement) }

    /// - Parameter event: event number, from 0, without wrapping.
    func channel(event: Int, map: ChannelMap) -> ChannelIndex {
        let unmapped = UInt8((event + 1) % 37 * hopIncrement % 37)
        guard !map.contains(unmapped), !map.used.isEmpty else { return ChannelIndex(unmapped) }
        return ChannelIndex(map.used[Int(unmapped) % map.used.count])
    }
}

/// Channel selection algorithm #2: a pseudo-random channel derived from access address and event counter. Core Vol 6, Part B, 4.5.8.3.
struct ChannelSelectionAlgorithm2 {
    private let identifier: UInt16

    init(accessAddress: UInt32) {
        identifier = UInt16(truncatingIfNeeded: accessAddress >> 16) ^ UInt16(truncatingIfNeeded: accessAddress)
    }

    func channel(counter: UInt16, map: ChannelMap) -> ChannelIndex {
        let random = pseudoRandom(counter)
        let unmapped = UInt8(random % 37)
        guard !map.contains(unmapped), !map.used.isEmpty else { return ChannelIndex(unmapped) }
        return ChannelIndex(map.used[(map.used.count * Int(random)) >> 16])
    }

    /// prn_e: three rounds of permutation, multiplication and addition.
    func pseudoRandom(_ counter: UInt16) -> UInt16 {
        var value = counter ^ identifier
        for _ in 0..<3 { value = Self.permute(value) &* 17 &+ identifier }
        return value ^ identifier
    }

    /// Reverses the bits within each octet.
    private static func permute(_ value: UInt16) -> UInt16 {
        var value = value
        value = (value & 0x5555) << 1 | value >> 1 & 0x5555
        value = (value & 0x3333) << 2 | value >> 2 & 0x3333
        return (value & 0x0F0F) << 4 | value >> 4 & 0x0F0F
    }
}
