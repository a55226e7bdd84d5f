import Packets

/// What a controller can do, by the names that case files use: the declared LE features, and BR/EDR.
enum Features {
    /// Support for BR/EDR, read from the LMP features.
    static let classic = "BR_EDR"

    /// Core Vol 6, Part B, 4.6.
    private static let bits = PDUCatalog.type(named: "LEFeatures")?.values ?? []

    static let names: Set<String> = Set(bits.map(\.name) + [classic])

    static func names(in mask: UInt64) -> [String] { bits.filter { mask >> UInt64($0.value) & 1 == 1 }.map(\.name) }
}
