import BBPackets

/// Number of bits for the samples of each subband, derived from the scale factors by encoder and decoder alike. A2DP 1.3, 12.6.3.
enum SBCBitAllocation {
    /// Loudness offsets for 16, 32, 44.1 and 48 kHz.
    private static let offsets4 = [[-1, 0, 0, 0], [-2, 0, 0, 1], [-2, 0, 0, 1], [-2, 0, 0, 1]]
    private static let offsets8 = [
        [-2, 0, 0, 0, 0, 0, 0, 1], [-3, 0, 0, 0, 0, 0, 1, 2], [-4, 0, 0, 0, 0, 0, 1, 2], [-4, 0, 0, 0, 0, 0, 1, 2],
    ]
    private static let mostBits = 16

    /// Number of bits of each sample, by channel and subband.
    static func bits(_ parameters: SBCParameters, scaleFactors: [[Int]]) -> [[Int]] {
        let needs = scaleFactors.map { factors in
            factors.indices.map { need(parameters, subband: $0, scaleFactor: factors[$0]) }
        }
        guard parameters.mode.sharesBitpool else {
            return needs.map { distribute(parameters.bitpool, interleaved($0.map { [$0] })) }
        }
        // Both channels alternate, subband by subband.
        let pairs = (0..<parameters.subbands).map { [needs[0][$0], needs[1][$0]] }
        let bits = distribute(parameters.bitpool, interleaved(pairs))
        return (0..<2).map { channel in (0..<parameters.subbands).map { bits[2 * $0 + channel] } }
    }

    private static func interleaved(_ rows: [[Int]]) -> [Int] { rows.flatMap { $0 } }

    private static func need(_ parameters: SBCParameters, subband: Int, scaleFactor: Int) -> Int {
        guard parameters.allocation == .loudness else { return scaleFactor }
        guard scaleFactor > 0 else { return -5 }
        let frequency = SBCParameters.frequencies.firstIndex(of: parameters.frequency) ?? 0
        let loudness = scaleFactor - (parameters.subbands == 4 ? offsets4 : offsets8)[frequency][subband]
        return loudness > 0 ? loudness / 2 : loudness
    }

    /// Assigns bits in slices from the largest need down as long as the bitpool allows; the rest goes to the lowest subbands.
    private static func distribute(_ pool: Int, _ needs: [Int]) -> [Int] {
        var slice = (needs.max() ?? 0) + 1
        var count = 0
        var sliceCount = 0
        repeat {
            slice -= 1
            count += sliceCount
            sliceCount = needs.reduce(0) { sum, need in
                if need == slice + 1 { return sum + 2 }
                return need > slice + 1 && need < slice + mostBits ? sum + 1 : sum
            }
        } while count + sliceCount < pool
        if count + sliceCount == pool {
            count += sliceCount
            slice -= 1
        }
        var bits = needs.map { $0 < slice + 2 ? 0 : min($0 - slice, mostBits) }
        for index in needs.indices where count < pool {
            if bits[index] >= 2, bits[index] < mostBits {
                bits[index] += 1
                count += 1
            } else if needs[index] == slice + 1, pool > count + 1 {
                bits[index] = 2
                count += 2
            }
        }
        for index in needs.indices where count < pool && bits[index] < mostBits {
            bits[index] += 1
            count += 1
        }
        return bits
    }
}
