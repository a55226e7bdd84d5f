/// Statistics of repeated measurements that are robust against outliers.
public struct RobustStatistics: Sendable, Hashable {
    /// The values in ascending order.
    public let values: [Double]

    /// - Parameter values: in any order; values that are not finite are ignored.
    public init(_ values: [Double]) { self.values = values.filter(\.isFinite).sorted() }

    public var median: Double { percentile(50) }

    /// The median of the absolute deviations from the median.
    public var medianAbsoluteDeviation: Double {
        let center = median
        return RobustStatistics(values.map { abs($0 - center) }).median
    }

    /// Standard deviation estimate: that of a normal distribution with this median absolute deviation.
    public var spread: Double { 1.482_6 * medianAbsoluteDeviation }

    /// Standard error of the median, with Student's factor for small numbers of values.
    public var medianError: Double {
        guard values.count > 1 else { return 0 }
        let count = Double(values.count)
        return 1.253_3 * spread / count.squareRoot() * (1 + 1 / (count - 1))
    }

    /// Percentile with linear interpolation; 0 without values.
    ///
    /// - Parameter share: 0...100.
    public func percentile(_ share: Double) -> Double {
        guard let last = values.indices.last else { return 0 }
        let place = max(0, min(Double(last), share / 100 * Double(last)))
        let below = Int(saturating: place)
        let above = min(below + 1, last)
        return values[below] + (values[above] - values[below]) * (place - Double(below))
    }
}
