import Throughput

/// Where a series of figures changed its level for good.
///
/// Seeded binary segmentation (Kovács, Bühlmann, Li and Munk, 2023) with a robust CUSUM: the figures are taken in units of their noise, clipped
/// at three of them (Huber's function), and in each of a set of intervals of all lengths the place is sought that parts it best into two levels. The best of all
/// places counts when it is beyond `threshold` standard errors and a permutation test agrees; then both sides are searched in the same way. The noise
/// is the median absolute deviation of the differences between neighbours, which no change of level moves. So one outlier or two never make a change, and
/// three builds of a new level do.
public struct ChangePoints: Sendable {
    public struct Settings: Sendable {
        /// The smallest change that is told of, in per cent.
        public var smallest = 1.0
        /// How often order alone may seem to be a change.
        public var significance = 0.05
        /// Of the permutations.
        public var seed: UInt64 = 1

        public init(smallest: Double = 1.0) { self.smallest = smallest }
    }

    public struct Change: Sendable, Hashable {
        /// The first figure of the new level.
        public var index: Int
        /// Medians of the levels on both sides.
        public var before: Double
        public var after: Double

        /// Of the level before, in per cent.
        public var percent: Double { before == 0 ? 0 : (after - before) / before * 100 }
    }

    /// Figures on either side of a change, at least.
    static let shortest = 3
    /// Standard errors between two levels.
    static let threshold = 4.8
    /// What a figure counts at most, in units of the noise.
    static let clip = 3.0
    static let permutations = 199

    public let changes: [Change]
    /// The standard deviation of the figures about their levels.
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

    /// The stretches of one level, in order; they cover all figures.
    public var levels: [Range<Int>] {
        let bounds = [0] + changes.map(\.index) + [values.count]
        return zip(bounds, bounds.dropFirst()).map { $0..<$1 }
    }

    /// A series that does not vary at all still has the noise of its digits.
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
        var left = Int(significance * Double(permutations + 1)) - 1
        for _ in 0..<permutations {
            units.shuffle(using: &random)
            if strongest(units, spans).score >= best.score { left -= 1 }
            if left < 0 { return nil }
        }
        return refined(best.place, values, noise)
    }

    /// The place near one found where two levels fit best: figures at the edge of the noise may have drawn it too far.
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

    /// Intervals of lengths that shrink by the root of two, evenly laid out, about half of each over the next.
    static func intervals(_ count: Int) -> [Range<Int>] {
        var found: [Range<Int>] = [0..<count]
        var (length, pieces) = (Double(count), 1.0)
        while true {
            (length, pieces) = (length / 2.0.squareRoot(), pieces * 2.0.squareRoot())
            let size = Int(length.rounded(.up))
            guard size >= 2 * shortest, size < count else { return found }
            let layers = 2 * Int(pieces.rounded(.up)) - 1
            let shift = Double(count - size) / Double(max(1, layers - 1))
            for layer in 0..<layers {
                let start = min(count - size, Int((Double(layer) * shift).rounded(.down)))
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

    // MARK: What is told

    /// The least change is dropped as long as it is too small, and its two levels become one.
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

/// The generator of the permutations. Steele, Lea and Flood, 2014.
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
