import BBPackets

/// The masks that a controller reports of itself, and the items of a conformance statement behind their bits:
/// `public-tests/declared/MASK.tsv`, from the proformas of the statements.
public struct DeclaredMasks: Sendable {
    /// A mask; the raw value is the name of its table.
    public enum Mask: String, CaseIterable, Sendable {
        case commands
        case leFeatures = "le-features"
        case lmpFeatures = "lmp-features"
    }

    /// A bit, counted from the first octet on, and the items that make its maker declare it.
    struct Bit: Sendable {
        var name: String
        var position: Int
        var items: Requirement
    }

    static let folder = PublicTests.folder + "/declared"
    private static let columns = ["bit", "name", "items"]

    private(set) var bits: [Mask: [Bit]] = [:]

    public init() {}

    /// Reads the tables of a folder of cases.
    ///
    /// - Throws: `Problems` for a condition with a mistake, or a name that the mask does not have.
    public static func load(_ folder: String) throws(Problems) -> DeclaredMasks {
        var masks = DeclaredMasks()
        var problems: [Problem] = []
        let place = folder + "/" + Self.folder
        for file in Catalogue.files(below: place) where file.hasSuffix(".tsv") {
            let table = TabTable(file: place + "/" + file, known: Self.columns)
            problems += table.problems
            guard let mask = Mask(rawValue: Catalogue.stem(file, ending: ".tsv")) else {
                let names = Mask.allCases.map(\.rawValue).joined(separator: ", ")
                problems.append(Problem(table.head, "there is no such mask; a table is named \(names)"))
                continue
            }
            let positions = mask.positions
            masks.bits[mask] = table.rows.compactMap { bit($0, positions, &problems) }
        }
        guard problems.isEmpty else { throw Problems(problems) }
        return masks
    }

    private static func bit(_ row: TabTable.Row, _ positions: [String: Int], _ problems: inout [Problem]) -> Bit? {
        guard let name = row["name"], let items = row["items"] else { return nil }
        guard let position = row["bit"].flatMap({ Int($0.text) }) ?? positions[name.text] else {
            let hint = Suggestion.text(for: name.text, among: positions.keys)
            problems.append(Problem(name.place, "'\(name.text)' is not a bit of this mask" + hint))
            return nil
        }
        return items.condition(&problems).map { Bit(name: name.text, position: position, items: $0) }
    }
}

extension DeclaredMasks.Mask {
    /// The declared bits by name. Further pages of LE features follow the 64 of page 0. Core Vol 6, Part B, 4.6.
    fileprivate var positions: [String: Int] {
        switch self {
        case .commands: Features.positionsOfCommands
        case .leFeatures: Self.bits("LEFeatures", from: 0).merging(Self.bits("LEFeaturesPage1", from: 64)) { first, _ in first }
        case .lmpFeatures: [:]
        }
    }

    private static func bits(_ type: String, from start: Int) -> [String: Int] {
        Dictionary((PDUCatalog.type(named: type)?.values ?? []).map { ($0.name, start + $0.value) }) { first, _ in first }
    }
}

/// The declaration of a maker about the tested device: the items of a conformance statement, and the bits of masks that follow from them.
public struct DeclaredItems: Sendable {
    private let statement: ConformanceStatement
    private let masks: DeclaredMasks

    public init(_ statement: ConformanceStatement, _ masks: DeclaredMasks) { (self.statement, self.masks) = (statement, masks) }

    /// A bit that the maker declares, or whose items the statement denies.
    package struct Bit: Sendable, Hashable {
        package var name: String
        package var position: Int
        package var isDeclared: Bool
        /// The items that decide, such as `TSPC_LL_9_1`.
        package var items: String
    }

    /// The bits of a mask that the statement decides.
    package func bits(of mask: DeclaredMasks.Mask) -> [Bit] {
        (masks.bits[mask] ?? []).compactMap { bit in
            statement.declares(bit.items).map {
                Bit(name: bit.name, position: bit.position, isDeclared: $0, items: bit.items.names.joined(separator: ", "))
            }
        }
    }

    /// The words of conditions that hold: `declared.TSPC_HCI_9_6` for an item that is TRUE, `denied.TSPC_HCI_9_6` for one that is FALSE.
    package func words(among names: some Sequence<String>) -> Set<String> {
        Set(names.filter { name in Declared(word: name).map { statement.declares(.feature($0.item)) == $0.isTrue } ?? false })
    }

    /// The item in a word of a condition, and the value that the word asks for.
    struct Declared {
        var item: String
        var isTrue: Bool

        /// Returns nil for a word about something else.
        init?(word: String) {
            let parts = word.split(separator: ".", maxSplits: 1)
            let values = ["declared": true, "denied": false]
            guard parts.count == 2, parts[1].hasPrefix(ConformanceStatement.mark), let isTrue = values[String(parts[0])] else { return nil }
            (item, self.isTrue) = (String(parts[1]), isTrue)
        }
    }
}
