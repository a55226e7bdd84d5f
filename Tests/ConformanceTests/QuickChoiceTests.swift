import BBPackets
import Testing

@testable import BBCases
@testable import BBConformance

/// The choice of `--quick` among cases of given durations.
struct QuickChoiceTests {
    private static let position = Position(file: "c.yaml", line: 1, column: 1)

    /// A case: id, section, public ids separated by blanks, ATT_MTU of the round, seconds.
    typealias Item = (id: String, section: String, ids: String, mtu: Int?, seconds: Int)

    private static func testCase(_ item: Item) -> TestCase {
        var made = TestCase(id: item.id, position: position, subject: .accessory)
        made.reference = item.section
        made.covers = item.ids.split(separator: " ").map { Cover(id: String($0), isFull: true, position: position) }
        if let mtu = item.mtu {
            made.parameters = [Parameter(name: "mtu", initial: .number(mtu), range: nil, field: nil, about: "", position: position)]
        }
        return made
    }

    struct Row: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var items: [Item]
        var named: Set<String> = []
        var limit: Int = 0
        var chosen: Set<String>
    }

    static let rows: [Row] = [
        Row(
            testDescription: "of one section the shortest", items: [("a/slow", "1", "", nil, 9), ("a/fast", "1", "", nil, 2)],
            chosen: ["a/fast"]),
        Row(
            testDescription: "one long case instead of three",
            items: [("a/x", "1", "A", nil, 4), ("a/y", "1", "B", nil, 4), ("a/z", "1", "C", nil, 4), ("a/all", "1", "A B C", nil, 7)],
            chosen: ["a/all"]),
        Row(
            testDescription: "two rounds of ATT_MTU",
            items: [23, 64, 247, 517].map { (mtu: Int) -> Item in ("a/mtu[mtu=\(mtu)]", "1", "", mtu, 3) },
            chosen: ["a/mtu[mtu=23]", "a/mtu[mtu=247]"]),
        Row(
            testDescription: "what was named stays, and counts", items: [("a/slow", "1", "", nil, 9), ("a/fast", "1", "", nil, 2)],
            named: ["a/slow"], chosen: ["a/slow"]),
        Row(
            testDescription: "other files before other rounds, up to the limit",
            items: [
                ("a/b[n=1]", "1", "", nil, 2), ("a/b[n=2]", "1", "", nil, 2), ("a/c", "1", "", nil, 3), ("a/d", "1", "", nil, 30),
            ], limit: 7, chosen: ["a/b[n=1]", "a/c", "a/b[n=2]"]),
        Row(testDescription: "a case of unknown duration does not run", items: [("a/b", "1", "", nil, -1)], limit: 9, chosen: []),
    ]

    @Test(arguments: rows) func chooses(_ row: Row) {
        let known = row.items.filter { $0.seconds >= 0 }
        let lengths = Dictionary(uniqueKeysWithValues: known.map { ($0.id, Microseconds.seconds($0.seconds)) })
        let choice = QuickChoice(row.items.map(Self.testCase), named: row.named, lengths, limit: .seconds(row.limit))
        #expect(choice.chosen == row.chosen)
        #expect(choice.length == row.chosen.compactMap { lengths[$0] }.reduce(.zero, +))
    }
}
