/// LMP features page 1: host support. Core Vol 2, Part C, 3.3.
struct LMPHostFeatures: OptionSet {
    var rawValue: UInt64

    static let simplePairing = LMPHostFeatures(rawValue: 1 << 0)
    static let leSupported = LMPHostFeatures(rawValue: 1 << 1)
    static let secureConnections = LMPHostFeatures(rawValue: 1 << 3)
}

/// LMP features page 2. Core Vol 2, Part C, 3.3.
struct LMPFeaturesPage2: OptionSet {
    var rawValue: UInt64

    static let secureConnections = LMPFeaturesPage2(rawValue: 1 << 8)
    static let ping = LMPFeaturesPage2(rawValue: 1 << 9)
}
