import Testing

@testable import BBConformance

/// Parts of a run: together they are complete, and none is much longer than another.
struct ShardTests {
    private static let ids = (0..<50).map { "suite/case-\($0)" }

    private static func parts(_ count: Int, _ ids: [String], _ durations: [String: Double] = [:]) -> [Set<String>] {
        (1...count).compactMap { Shard("\($0)/\(count)")?.part(of: ids, durations: durations) }
    }

    @Test(arguments: [1, 2, 3, 7, 50, 60], [false, true])
    func everyCaseIsInOnePart(_ count: Int, _ isMeasured: Bool) {
        let durations = isMeasured ? Dictionary(uniqueKeysWithValues: Self.ids.dropLast(5).map { ($0, Double($0.count) * 3.5) }) : [:]
        let parts = Self.parts(count, Self.ids, durations)
        #expect(parts.count == count && parts.reduce(0) { $0 + $1.count } == Self.ids.count)
        #expect(parts.reduce(into: Set<String>()) { $0.formUnion($1) } == Set(Self.ids))
        #expect(parts == Self.parts(count, Self.ids.reversed(), durations), "the order in which they run does not matter")
        let sizes = parts.map(\.count)
        #expect((sizes.max() ?? 0) - (sizes.min() ?? 0) <= (isMeasured ? Self.ids.count : 1))
    }

    /// A case as long as all others together gets a part of its own, since the longest cases come first.
    @Test func partsAreAboutEquallyLong() {
        var durations = Dictionary(uniqueKeysWithValues: Self.ids.map { ($0, 10.0) })
        durations["suite/case-7"] = 490
        let parts = Self.parts(2, Self.ids, durations)
        #expect(parts.contains(["suite/case-7"]))
        let even = Self.parts(4, Self.ids, durations.filter { $0.key != "suite/case-7" })
        #expect(Set(even.map(\.count)) == [12, 13], "a case that nobody has measured counts as the median")
    }

    /// The shards of a merged run, and the sentence about those that it lacks.
    @Test(arguments: [
        ("1/3", "shards 2 and 3 of 3 are missing"), ("1/3, 3/3", "shard 2 of 3 is missing"),
        ("4/5,1/5", "shards 2, 3 and 5 of 5 are missing"),
        ("2/2, 1/2", nil),
    ])
    func missingShardsAreNamed(_ text: String, _ lack: String?) {
        let shards = ShardSet(text)
        #expect(shards != nil && shards?.lack == lack)
        #expect(shards.flatMap { ShardSet($0.description) } == shards)
    }

    @Test(arguments: ["", ",", "1/3, 2/4", "1/3, x"]) func whatAreNoPartsOfOneRun(_ text: String) { #expect(ShardSet(text) == nil) }

    @Test(arguments: ["", "1", "0/3", "4/3", "1/0", "-1/3", "a/b", "1/2/3", "1/", "/2"])
    func whatIsNoPart(_ text: String) { #expect(Shard(text) == nil) }
}
