import BBTiming
import Testing

@testable import BBHistory

struct ChangePointTests {
    /// A series of levels with normally distributed noise, in percent of the first level.
    private static func series(_ levels: [(count: Int, value: Double)], noise: Double, _ random: inout RandomSource) -> [Double] {
        let scale = (levels.first?.value ?? 0) * noise / 100
        return levels.flatMap { level in
            // The sum of twelve uniform random numbers has a variance of 1.
            (0..<level.count).map { _ in
                level.value + scale * (0..<12).reduce(-6.0) { sum, _ in sum + Double.random(in: 0..<1, using: &random) }
            }
        }
    }

    @Test(arguments: [0.1, 0.3, 0.5]) func aDropOfThreePerCentIsFoundWithinThreeBuildsOfTwoHundred(noise: Double) {
        var random = RandomSource(seed: 7, label: "drop in noise of \(noise)")
        for _ in 0..<50 {
            let place = Int.random(in: 12...188, using: &random)
            let values = Self.series([(place, 1_300), (200 - place, 1_261)], noise: noise, &random)
            let changes = ChangePoints(values).changes
            #expect(changes.count == 1)
            #expect(changes.allSatisfy { abs($0.index - place) <= 3 && abs($0.percent + 3) < 1 })
        }
    }

    @Test(arguments: [0.1, 0.3, 0.5]) func threeBuildsAfterADropItIsKnown(noise: Double) {
        var random = RandomSource(seed: 8, label: "fresh drop in noise of \(noise)")
        for _ in 0..<50 {
            let changes = ChangePoints(Self.series([(197, 1_300), (3, 1_261)], noise: noise, &random)).changes
            #expect(changes.count == 1)
            #expect(changes.allSatisfy { abs($0.index - 197) <= 3 })
        }
    }

    @Test(arguments: [0.0, 0.1, 0.5, 2, 10]) func steadyNoiseHasNone(noise: Double) {
        var random = RandomSource(seed: 9, label: "steady noise of \(noise)")
        for round in 0..<50 {
            let values = Self.series([(round.isMultiple(of: 2) ? 200 : 30, 800)], noise: noise, &random)
            #expect(ChangePoints(values).changes.isEmpty)
        }
    }

    @Test func oneOutlierOrTwoAreNone() {
        var random = RandomSource(seed: 10, label: "outliers")
        for count in 1...2 {
            var values = Self.series([(60, 800)], noise: 0.3, &random)
            for index in 0..<count { values[30 + index] = 400 }
            #expect(ChangePoints(values).changes.isEmpty)
            for index in 0..<count { values[59 - index] = 400 }
            #expect(ChangePoints(values).changes.isEmpty)
        }
    }

    @Test(arguments: [
        ([(60, 800.0), (60, 760), (60, 800)], [60, 120]), ([(40, 800), (40, 780), (40, 760)], [40, 80]),
        ([(90, 800), (20, 700), (90, 800)], [90, 110]),
        // Too small to be reported.
        ([(60, 800), (60, 797)], []),
    ])
    func levels(levels: [(Int, Double)], places: [Int]) {
        var random = RandomSource(seed: 11, label: "levels")
        for _ in 0..<10 {
            let found = ChangePoints(Self.series(levels.map { (count: $0.0, value: $0.1) }, noise: 0.3, &random))
            #expect(found.changes.count == places.count)
            #expect(zip(found.changes, places).allSatisfy { abs($0.index - $1) <= 3 })
            #expect(found.levels.count == places.count + 1)
        }
    }

    @Test(arguments: [[], [1], [1, 2], [0, 0, 0, 0, 0, 0, 0], [.infinity, 1, 2, .nan, 3, 4, 5, 6]]) func fewOrOddFiguresDoNotTrap(
        values: [Double]
    ) {
        #expect(ChangePoints(values).changes.isEmpty)
    }
}
