/// Figures of repeated measurements that a single outlier does not move.
public struct RobustStatistics: Sendable, Hashable {
    /// In ascending order.
    public let values: [Double]

    /// - Parameter values: in any order; those that are no numbers are left out.
    public init(_ values: [Double]) { self.values = values.filter(\.isFinite).sorted() }

    public var median: Double { percentile(50) }

    /// The median of the distances from the median.
    public var medianAbsoluteDeviation: Double {
        let center = median
        return RobustStatistics(values.map { abs($0 - center) }).median
    }

    /// The standard deviation that values of a normal distribution with this deviation have.
    public var spread: Double { 1.482_6 * medianAbsoluteDeviation }

    /// How far the median is likely to be off: its standard error. Few values say little about their spread, hence Student's share for them.
    public var medianError: Double {
        guard values.count > 1 else { return 0 }
        let count = Double(values.count)
        return 1.253_3 * spread / count.squareRoot() * (1 + 1 / (count - 1))
    }

    /// Between two values the way is taken for straight. 0 where there is none.
    ///
    /// - Parameter share: 0...100.
    public func percentile(_ share: Double) -> Double {
        guard let last = values.indices.last else { return 0 }
        let place = max(0, min(Double(last), share / 100 * Double(last)))
        let below = Int(place)
        let above = min(below + 1, last)
        return values[below] + (values[above] - values[below]) * (place - Double(below))
    }
}
