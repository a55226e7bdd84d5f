import BBPackets

/// Encodes 16-bit samples into SBC frames. A2DP 1.3, 12.7.
public struct SBCEncoder: Sendable {
    public let parameters: SBCParameters
    private var analysis: [SBCAnalysis]

    public init(_ parameters: SBCParameters) {
        self.parameters = parameters
        analysis = [SBCAnalysis](repeating: SBCAnalysis(subbands: parameters.subbands), count: parameters.mode.channels)
    }

    /// Encodes a frame.
    ///
    /// - Parameter channels: the samples of one frame for each channel; the result is nil for another number of samples.
    public mutating func frame(_ channels: [[Int16]]) -> [UInt8]? {
        guard channels.count == parameters.mode.channels, channels.allSatisfy({ $0.count == parameters.samples }) else { return nil }
        // By channel, subband and block.
        var subbandSamples = channels.indices.map { channel in analysed(channels[channel], channel) }
        let join = parameters.mode == .jointStereo ? Self.join(&subbandSamples) : []
        let factors = subbandSamples.map { $0.map(Self.scaleFactor) }
        return pack(subbandSamples, factors, SBCBitAllocation.bits(parameters, scaleFactors: factors), join)
    }

    private mutating func analysed(_ samples: [Int16], _ channel: Int) -> [[Double]] {
        let subbands = parameters.subbands
        var result = [[Double]](repeating: [], count: subbands)
        for block in 0..<parameters.blocks {
            let values = analysis[channel].next(samples[block * subbands..<(block + 1) * subbands].map(Double.init))
            for (subband, value) in values.enumerated() { result[subband].append(value) }
        }
        return result
    }

    /// Exponent of the scale factor, minus 1. A2DP 1.3, 12.7.2.
    private static func scaleFactor(_ samples: [Double]) -> Int {
        let peak = samples.reduce(0) { max($0, $1.magnitude) }
        return (0..<15).first { Double(2 << $0) > peak } ?? 15
    }

    /// Replaces both channels by sum and difference if that is smaller; never in the last subband. A2DP 1.3, 12.7.3.
    private static func join(_ samples: inout [[[Double]]]) -> [Bool] {
        samples[0].indices.map { subband in
            guard subband < samples[0].count - 1 else { return false }
            let (left, right) = (samples[0][subband], samples[1][subband])
            let sum = zip(left, right).map { ($0 + $1) / 2 }
            let difference = zip(left, right).map { ($0 - $1) / 2 }
            guard scaleFactor(sum) + scaleFactor(difference) < scaleFactor(left) + scaleFactor(right) else { return false }
            (samples[0][subband], samples[1][subband]) = (sum, difference)
            return true
        }
    }

    // MARK: The frame. A2DP 1.3, 12.6

    private func pack(_ samples: [[[Double]]], _ factors: [[Int]], _ bits: [[Int]], _ join: [Bool]) -> [UInt8] {
        var writer = BitWriter(reserving: parameters.frameLength)
        var check = SBCCheck()
        for octet in parameters.header { writer.put(Int(octet), bits: 8) }
        for octet in parameters.header.dropFirst() { check.add(Int(octet), bits: 8) }
        writer.put(0, bits: 8)
        let side = join.map { ($0 ? 1 : 0, 1) } + factors.joined().map { ($0, 4) }
        for (value, width) in side {
            writer.put(value, bits: width)
            check.add(value, bits: width)
        }
        for block in 0..<parameters.blocks {
            for channel in samples.indices {
                for subband in 0..<parameters.subbands where bits[channel][subband] > 0 {
                    let levels = Double(1 << bits[channel][subband] - 1)
                    let scaled = samples[channel][subband][block] / Double(2 << factors[channel][subband])
                    writer.put(Int(saturating: ((scaled + 1) * levels / 2).rounded(.down)), bits: bits[channel][subband])
                }
            }
        }
        var octets = writer.octets
        octets[3] = check.value
        return octets
    }
}

/// Packs numbers of any width, most significant bit first.
private struct BitWriter {
    private(set) var octets: [UInt8] = []
    private var free = 0

    init(reserving count: Int) { octets.reserveCapacity(count) }

    mutating func put(_ value: Int, bits: Int) {
        for shift in (0..<bits).reversed() {
            if free == 0 {
                octets.append(0)
                free = 8
            }
            free -= 1
            octets[octets.count - 1] |= UInt8(truncatingIfNeeded: value >> shift & 1) << UInt8(free)
        }
    }
}

/// The samples of one period of a sine wave, the same on every machine.
public struct Tone: Sendable {
    public static let longestCycle = 4_096

    public let samples: [Int16]
    private var position = 0

    /// - Parameters:
    ///   - cycle: samples per period, 4...4096.
    ///   - amplitude: 0...32767.
    public init(cycle: Int, amplitude: Int) {
        let cycle = min(max(4, cycle), Self.longestCycle)
        let (sine, cosine) = Self.sineAndCosine(2 * Double.pi / Double(cycle))
        var (last, beforeLast) = (0.0, -sine * Double(amplitude))
        var samples: [Int16] = []
        for _ in 0..<cycle {
            samples.append(Int16(saturating: max(-32_768, min(32_767, last.rounded()))))
            (last, beforeLast) = (2 * cosine * last - beforeLast, last)
        }
        self.samples = samples
    }

    public mutating func next() -> Int16 {
        defer { position = (position + 1) % samples.count }
        return samples[position]
    }

    /// Sine and cosine by their Taylor series, which converge quickly up to pi/2.
    private static func sineAndCosine(_ angle: Double) -> (Double, Double) {
        var (sine, cosine, term) = (0.0, 0.0, 1.0)
        for power in 0..<24 {
            switch power % 4 {
            case 0: cosine += term
            case 1: sine += term
            case 2: cosine -= term
            default: sine -= term
            }
            term *= angle / Double(power + 1)
        }
        return (sine, cosine)
    }
}
