import BBThroughput

/// Figures of a row over time, with levels and changes.
public struct Trend: Sendable {
    public struct Change: Sendable {
        /// First point of the new level.
        public var point: HistorySeries.Point
        /// Its index among the points.
        public var index: Int
        public var before: Double
        public var after: Double
        /// Size of the change, in percent of the level before it.
        public var percent: Double
        public var isWorse: Bool
        /// Number of points at the new level.
        public var age: Int
    }

    /// A range of points between two changes.
    public struct Level: Sendable {
        /// Range among all points of the series.
        public var range: Range<Int>
        public var median: Double
        /// Noise band around the median: three standard deviations.
        public var band: Double
    }

    public let series: HistorySeries
    public let changes: [Change]
    public let levels: [Level]

    public init(_ series: HistorySeries, settings: ChangePoints.Settings = .init()) {
        self.series = series
        let places = series.points.indices.filter { series.points[$0].value?.isFinite == true }
        let values = places.compactMap { series.points[$0].value }
        let found = ChangePoints(values, settings: settings)
        let rises = series.metric.rises
        changes = found.changes.map { change in
            Change(
                point: series.points[places[change.index]], index: places[change.index], before: change.before, after: change.after,
                percent: change.percent, isWorse: (change.after < change.before) == rises,
                age: series.points.count - places[change.index])
        }
        let bounds = found.levels
        levels =
            values.isEmpty
            ? []
            : bounds.map { level in
                let figures = RobustStatistics(Array(values[level]))
                let end = level.upperBound == values.count ? series.points.count : places[level.upperBound]
                return Level(
                    range: (level.lowerBound == 0 ? 0 : places[level.lowerBound])..<end, median: figures.median,
                    band: 3 * max(figures.spread, found.noise))
            }
    }

    public var latest: HistorySeries.Point? { series.points.last }
}
