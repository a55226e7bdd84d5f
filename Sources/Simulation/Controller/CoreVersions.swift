import BBPackets

/// Core Specification versions that introduced LE features; older controllers lack them. Commands and events declare their version.
enum CoreVersions {
    /// Versions whose rules differ from those before, as in the assigned numbers, 2.1.
    static let (core60, core61, core62): (UInt8, UInt8, UInt8) = (14, 15, 16)

    /// LE features of a version: those that it or one before it introduced. Core Vol 6, Part B, 4.6.
    static func features(of version: UInt8) -> LEFeatures {
        introduced.filter { $0.version <= version }.reduce(into: LEFeatures()) { $0.formUnion($1.features) }
    }

    /// Features that each version added. A later version may fill a bit that stands before those of an earlier one.
    private static let introduced: [(version: UInt8, features: LEFeatures)] = [
        (6, bits(0...0)), (7, bits(1...4)), (8, bits(5...7)), (9, bits(8...16)), (10, bits(17...27)), (11, bits(28...35)),
        (12, bits(36...39)), (13, bits(40...41).union(bits(43...44))), (14, bits(42...42).union(bits(45...48)).union(bits(63...63))),
    ]

    private static func bits(_ range: ClosedRange<UInt64>) -> LEFeatures {
        LEFeatures(rawValue: range.reduce(0) { $0 | 1 << $1 })
    }
}
