import BBTiming

/// Generator of secret random numbers: keys, nonces, challenges, random addresses, tokens. Core Vol 2, Part H, 2.
///
/// It uses the system's generator. The only exception is a loop in virtual time, where no real device takes part; there the numbers are
/// seeded, so that runs are reproducible to the octet. A foreign host that shares virtual time gets seeded numbers, too. Code that makes a
/// secret uses this type and no other generator.
public struct SecretSource: RandomNumberGenerator, Sendable {
    private enum Generator: Sendable {
        case system(SystemRandomNumberGenerator)
        case reproducible(RandomSource)
    }

    private var generator: Generator

    /// The system's generator.
    public static let system = SecretSource(.system(SystemRandomNumberGenerator()))

    private init(_ generator: Generator) { self.generator = generator }

    /// Secrets of one device.
    ///
    /// - Parameters:
    ///   - seed: determines the numbers in virtual time; not used in wall time.
    ///   - label: device or purpose. Streams with different labels do not reveal each other.
    public init(seed: UInt64, label: String, on loop: RunLoop) {
        self.init(loop.mode == .virtual ? .reproducible(RandomSource(seed: seed, label: label)) : Self.system.generator)
    }

    /// An independent stream for one purpose; does not advance this one.
    public func stream(_ label: String) -> SecretSource {
        guard case .reproducible(var source) = generator else { return self }
        return SecretSource(.reproducible(RandomSource(seed: source.next(), label: label)))
    }

    public mutating func next() -> UInt64 {
        switch generator {
        case .system(var source): return source.next()
        case .reproducible(var source):
            let number = source.next()
            generator = .reproducible(source)
            return number
        }
    }

    /// 128 random bits.
    public mutating func key() -> UInt128 { UInt128(next()) << 64 | UInt128(next()) }

    /// `count` random octets.
    public mutating func octets(_ count: Int) -> [UInt8] {
        var octets: [UInt8] = []
        while octets.count < count {
            let number = next()
            octets += (0..<min(8, count - octets.count)).map { UInt8(truncatingIfNeeded: number >> (8 * UInt64($0))) }
        }
        return octets
    }
}
