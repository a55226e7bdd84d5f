import Timing

/// Random numbers that others must not be able to tell: keys, nonces, challenges, random addresses, tokens. Core Vol 2, Part H, 2.
///
/// They come from the system's generator. The one exception is a loop in virtual time, which no real device can join: there a run repeats itself to the
/// octet. Code that makes a secret takes this type and no other generator.
public struct SecretSource: RandomNumberGenerator, Sendable {
    private enum Generator: Sendable {
        case system(SystemRandomNumberGenerator)
        case reproducible(RandomSource)
    }

    private var generator: Generator

    /// The system's generator.
    public static let system = SecretSource(.system(SystemRandomNumberGenerator()))

    private init(_ generator: Generator) { self.generator = generator }

    /// The secrets of one device.
    ///
    /// - Parameters:
    ///   - seed: fixes the numbers in virtual time; in wall time it means nothing.
    ///   - label: the device, or what it draws: streams with different labels do not give each other away.
    public init(seed: UInt64, label: String, on loop: RunLoop) {
        self.init(loop.mode == .virtual ? .reproducible(RandomSource(seed: seed, label: label)) : Self.system.generator)
    }

    /// A stream of its own for one purpose; this one stays where it is.
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
