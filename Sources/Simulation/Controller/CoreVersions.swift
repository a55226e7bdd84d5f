import BBPackets

/// Core Specification versions that introduced LE features; older controllers lack them. Commands and events declare their version.
enum CoreVersions {
    /// Versions as in the assigned numbers.
    private enum Version: UInt8 {
        case core40 = 6
        case core41, core42, core50, core51, core52, core53, core54, core60, core61, core62
    }

    /// Versions whose rules differ from those before, as in the assigned numbers.
    static let (core60, core61, core62) = (Version.core60.rawValue, Version.core61.rawValue, Version.core62.rawValue)

    /// LE features of a version: the lowest bits, up to those it introduced. Core Vol 6, Part B, 4.6.
    static func features(of version: UInt8) -> LEFeatures {
        let counts: [Version: UInt64] = [
            .core40: 1, .core41: 5, .core42: 8, .core50: 17, .core51: 28, .core52: 34, .core53: 39, .core54: 45,
        ]
        guard let count = Version(rawValue: version).flatMap({ counts[$0] }) else { return LEFeatures(rawValue: .max) }
        return LEFeatures(rawValue: 1 << count - 1)
    }
}
