import Cases
import Packets

/// The features of a controller by their names in case files: the declared LE features, BR/EDR, and the supported commands.
enum Features {
    /// Support for BR/EDR, from the LMP features.
    static let classic = "BR_EDR"

    /// The LE feature bits. Core Vol 6, Part B, 4.6.
    private static let bits = PDUCatalog.type(named: "LEFeatures")?.values ?? []

    static let names: Set<String> = Set(bits.map(\.name) + [classic])

    /// The commands with a bit in the Supported_Commands mask.
    static let commands: Set<String> = Set(commandBits.map(\.name))

    private static let commandBits: [(name: String, bit: SupportedCommandsBit)] = PDUCatalog.all.compactMap { declaration in
        guard declaration.layer == .hciCommands, let bit = declaration.supportedCommandsBit else { return nil }
        return (declaration.name, bit)
    }

    static func commands(in mask: SupportedCommands) -> [String] { commandBits.filter { mask.contains($0.bit) }.map(\.name) }

    /// The names of the commands as conditions of cases write them: `subject.LE_Set_PHY`.
    static func commands(in mask: SupportedCommands, of side: Side) -> [String] {
        let names = namesOfSides[side] ?? []
        var found: [String] = []
        for index in commandBits.indices where mask.contains(commandBits[index].bit) { found.append(names[index]) }
        return found
    }

    private static let namesOfSides = Dictionary(
        uniqueKeysWithValues: Side.allCases.map { side in (side, commandBits.map { "\(side.rawValue).\($0.name)" }) })

    static func names(in mask: UInt64) -> [String] { bits.filter { mask >> UInt64($0.value) & 1 == 1 }.map(\.name) }
}
