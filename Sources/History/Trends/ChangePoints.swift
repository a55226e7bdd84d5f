import BBThroughput

/// Finds lasting level changes in a series of figures.
///
/// Seeded binary segmentation (Kovács, Bühlmann, Li and Munk, 2023) with a robust CUSUM. Figures are scaled by their noise and clipped at
/// three units (Huber's function). In each of a set of intervals of all lengths, the position is sought that best separates two levels. The
/// best position counts if it exceeds `threshold` standard errors and passes a permutation test; both sides are then searched in the same
/// way. The noise is the median absolute deviation of the differences between neighbours, which is independent of level changes. One or two
/// outliers are therefore never a change, but three builds at a new level are.
public struct ChangePoints: Sendable {
    public struct Settings: Sendable {
        /// Smallest reported change, in percent.
        public var smallest = 1.0
        /// Significance level of the permutation test.
        public var significance = 0.05
        /// Seed of the permutations.
        public var seed: UInt64 = 1

        public init(smallest: Double = 1.0) { self.smallest = smallest }
    }

    public struct Change: Sendable, Hashable {
        /// Index of the first figure of the new level.
        public var index: Int
        /// Medians of the levels before and after.
        public var before: Double
        public var after: Double

        /// Size of the change, in percent of the level before it.
        public var percent: Double { before == 0 ? 0 : (after - before) / before * 100 }
    }

    /// Minimum number of figures on either side of a change.
    static let shortest = 3
    /// Minimum number of standard errors between two levels.
    static let threshold = 4.8
    /// Clipping limit of a figure, in units of the noise.
    static let clip = 3.0
    static let permutations = 199

    public let changes: [Change]
    /// Standard deviation of the figures from their levels.
    public let noise: Double

    private let values: [Double]
    private let settings: Settings

    public init(_ values: [Double], settings: Settings = Settings()) {
        self.values = values
        self.settings = settings
        noise = Self.noise(values)
        var found: [Int] = []
        var random = SplitMix(state: settings.seed)
        var open = [0..<values.count]
        while let range = open.popLast() {
            guard let place = Self.place(in: Array(values[range]), noise, settings.significance, &random) else { continue }
            found.append(range.lowerBound + place)
            open += [range.lowerBound..<range.lowerBound + place, range.lowerBound + place..<range.upperBound]
        }
        changes = Self.levels(values, at: found.sorted(), smallest: settings.smallest)
    }

    /// Ranges of constant level, in order; together they cover all figures.
    public var levels: [Range<Int>] {
        let bounds = [0] + changes.map(\.index) + [values.count]
        return zip(bounds, bounds.dropFirst()).map { $0..<$1 }
    }

    /// Noise of the values. A constant series still has the noise of its last digit.
    private static func noise(_ values: [Double]) -> Double {
        let steps = zip(values.dropFirst(), values).map { $0 - $1 }
        let spread = 1.482_6 * RobustStatistics(steps.map(abs)).median / 2.0.squareRoot()
        return max(spread, abs(RobustStatistics(values).median) * 0.000_5, .leastNormalMagnitude)
    }

    // MARK: One change

    private static func place(in values: [Double], _ noise: Double, _ significance: Double, _ random: inout SplitMix) -> Int? {
        guard values.count >= 2 * shortest else { return nil }
        let middle = RobustStatistics(values).median
        var units = values.map { max(-clip, min(clip, ($0 - middle) / noise)) }
        let spans = intervals(values.count)
        let best = strongest(units, spans)
        guard best.score >= threshold else { return nil }
        var left = Int(saturating: significance * Double(permutations + 1)) - 1
        for _ in 0..<permutations {
            units.shuffle(using: &random)
            if strongest(units, spans).score >= best.score { left -= 1 }
            if left < 0 { return nil }
        }
        return refined(best.place, values, noise)
    }

    /// The nearby position at which two levels fit best, since figures at the edge of the noise may have shifted it.
    private static func refined(_ place: Int, _ values: [Double], _ noise: Double) -> Int {
        func cost(_ values: ArraySlice<Double>) -> Double {
            let level = RobustStatistics(Array(values)).median
            return values.reduce(0) { sum, value in
                let distance = abs(value - level) / noise
                return sum + (distance <= clip ? distance * distance / 2 : clip * (distance - clip / 2))
            }
        }
        let near = max(shortest, place - 3 * shortest)...min(values.count - shortest, place + 3 * shortest)
        let costs = near.map { (place: $0, cost: cost(values[..<$0]) + cost(values[$0...])) }
        return costs.min { $0.cost < $1.cost }?.place ?? place
    }

    /// Intervals whose lengths decrease by the square root of two, evenly spaced, each overlapping the next by about half.
    static func intervals(_ count: Int) -> [Range<Int>] {
        var found: [Range<Int>] = [0..<count]
        var (length, pieces) = (Double(count), 1.0)
        while true {
            (length, pieces) = (length / 2.0.squareRoot(), pieces * 2.0.squareRoot())
            let size = Int(saturating: length.rounded(.up))
            guard size >= 2 * shortest, size < count else { return found }
            let layers = 2 * Int(saturating: pieces.rounded(.up)) - 1
            let shift = Double(count - size) / Double(max(1, layers - 1))
            for layer in 0..<layers {
                let start = min(count - size, Int(saturating: (Double(layer) * shift).rounded(.down)))
                found.append(start..<start + size)
            }
        }
    }

    private static func strongest(_ units: [Double], _ spans: [Range<Int>]) -> (place: Int, score: Double) {
        var sums = [0.0]
        sums.reserveCapacity(units.count + 1)
        for unit in units { sums.append(sums[sums.count - 1] + unit) }
        var best = (place: 0, score: 0.0)
        for span in spans {
            let (count, total) = (Double(span.count), sums[span.upperBound] - sums[span.lowerBound])
            for place in (span.lowerBound + shortest)...(span.upperBound - shortest) {
                let left = Double(place - span.lowerBound)
                let sum = sums[place] - sums[span.lowerBound]
                let score = abs(sum - left * total / count) * (count / (left * (count - left))).squareRoot()
                if score > best.score { best = (place, score) }
            }
        }
        return best
    }

    // MARK: Merging

    /// Removes the smallest change and merges the levels beside it, until no change is below `smallest` percent.
    private static func levels(_ values: [Double], at places: [Int], smallest: Double) -> [Change] {
        var places = places
        while true {
            let bounds = [0] + places + [values.count]
            let medians = zip(bounds, bounds.dropFirst()).map { RobustStatistics(Array(values[$0..<$1])).median }
            let changes = places.indices.map { Change(index: places[$0], before: medians[$0], after: medians[$0 + 1]) }
            let least = changes.indices.min { abs(changes[$0].percent) < abs(changes[$1].percent) }
            guard let least, abs(changes[least].percent) < smallest else { return changes }
            places.remove(at: least)
        }
    }
}

/// Random number generator of the permutations. Steele, Lea and Flood, 2014.
struct SplitMix: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
