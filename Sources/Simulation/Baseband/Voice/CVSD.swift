/// Continuously variable slope delta modulation at 64 kb/s: each bit is the sign of the difference between the voice sample and its
/// prediction. Core Vol 2, Part B, 9.2.
struct CVSD {
    /// h and beta, and the minimum and maximum step size, from the specification's table.
    private static let decay = 1 - 1.0 / 32
    private static let stepDecay = 1 - 1.0 / 1_024
    private static let steps = 10.0...1_280.0
    private static let range = -32_768.0...32_767.0
    /// CVSD bits per 8 kHz sample.
    static let bitsPerSample = 8

    /// Current prediction.
    private var estimate = 0.0
    private var step = steps.lowerBound
    /// The last four bits.
    private var recent: UInt8 = 0b0101
    /// Previous sample at 8 kHz.
    private var lastSample = 0.0

    /// Moves the prediction by one step.
    ///
    /// - Parameter isNegative: the transmitted bit; 1 is a step down.
    private mutating func advance(_ isNegative: Bool) {
        recent = (recent << 1 | (isNegative ? 1 : 0)) & 0xF
        let isSteep = recent == 0 || recent == 0xF
        step = isSteep ? min(step + Self.steps.lowerBound, Self.steps.upperBound) : max(step * Self.stepDecay, Self.steps.lowerBound)
        let moved = estimate + (isNegative ? -step : step)
        estimate = Self.decay * min(max(moved, Self.range.lowerBound), Self.range.upperBound)
    }

    /// Encodes one 8 kHz sample into eight bits, first bit in the least significant position. Interpolates linearly from the previous
    /// sample.
    mutating func encode(_ sample: Int16) -> UInt8 {
        let new = Double(sample)
        var octet: UInt8 = 0
        for bit in 0..<Self.bitsPerSample {
            let value = lastSample + (new - lastSample) * Double(bit + 1) / Double(Self.bitsPerSample)
            let isNegative = value < estimate
            if isNegative { octet |= 1 << UInt8(bit) }
            advance(isNegative)
        }
        lastSample = new
        return octet
    }

    /// Decodes eight bits into one 8 kHz sample, their mean.
    mutating func decode(_ octet: UInt8) -> Int16 {
        var sum = 0.0
        for bit in 0..<Self.bitsPerSample {
            advance(octet >> UInt8(bit) & 1 == 1)
            sum += estimate
        }
        return Int16(saturating: (sum / Double(Self.bitsPerSample)).rounded())
    }
}
