import Foundation

/// One trend as a plot for `plot.mustache`: points, levels with their noise, and numbered marks at level changes.
///
/// The y axis is scaled by the levels, so that one bad night does not flatten a change of level: points far from every level are arrows at the edge.
struct TrendPlot {
    private static let (width, height) = (360.0, 150.0)
    private static let (left, right, top, bottom) = (44.0, 6.0, 16.0, 22.0)
    /// Distance from the levels that is always shown, as a part of the highest level.
    private static let nearby = 0.02

    let trend: Trend
    private let low: Double
    private let high: Double

    init(_ trend: Trend) {
        self.trend = trend
        let levels = trend.levels.flatMap { [$0.median - $0.band, $0.median + $0.band] }
        let (bottom, top) = (levels.min() ?? 0, levels.max() ?? 1)
        let reach = max(top - bottom, abs(top) * Self.nearby)
        let near = trend.series.points.compactMap(\.value).filter { $0 >= bottom - reach && $0 <= top + reach }
        let (least, most) = (min(bottom, near.min() ?? bottom), max(top, near.max() ?? top))
        let room = max((most - least) * 0.08, abs(most) * 0.002, 0.001)
        (low, high) = (least - room, most + room)
    }

    var fields: [String: Any] {
        let changes = trend.changes.isEmpty ? "No change." : trend.changes.map(TrendTable.text).joined(separator: ". ")
        return [
            "width": Int(saturating: Self.width), "height": Int(saturating: Self.height),
            "label": "\(TrendTable.name(trend.series)): \(trend.series.points.count) runs. " + changes,
            "grid": grid, "levels": trend.levels.compactMap(band), "line": line, "marks": trend.changes.indices.map(mark), "points": points,
            "ends": ends,
        ]
    }

    private func x(_ index: Int) -> Double {
        let count = trend.series.points.count
        let place = count < 2 ? 0.5 : Double(index) / Double(count - 1)
        return Self.left + 4 + place * (Self.width - Self.left - Self.right - 8)
    }

    private func y(_ value: Double) -> Double {
        Self.height - Self.bottom - (min(max(value, low), high) - low) / (high - low) * (Self.height - Self.top - Self.bottom)
    }

    private func number(_ value: Double) -> String { String(format: "%.1f", value) }

    private var grid: [[String: Any]] {
        let digits = high - low < 2 ? 2 : high - low < 20 ? 1 : 0
        return (0...3).map { step in
            let value = low + (high - low) * Double(step) / 3
            return [
                "left": Self.left, "right": Self.width - Self.right, "y": number(y(value)), "textX": Self.left - 4,
                "textY": number(y(value) + 3), "text": String(format: "%.\(digits)f", value),
            ]
        }
    }

    private func band(_ level: Trend.Level) -> [String: Any]? {
        guard let last = level.range.last else { return nil }
        let (from, to) = (x(level.range.lowerBound) - 3, x(last) + 3)
        let (upper, lower) = (y(level.median + level.band), y(level.median - level.band))
        return [
            "x": number(from), "end": number(to), "width": number(to - from), "top": number(upper), "height": number(max(1, lower - upper)),
            "y": number(y(level.median)),
        ]
    }

    private var line: String {
        trend.series.points.enumerated().compactMap { index, point in point.value.map { "\(number(x(index))),\(number(y($0)))" } }
            .joined(separator: " ")
    }

    private func mark(_ index: Int) -> [String: Any] {
        let change = trend.changes[index]
        return [
            "kind": change.isWorse ? "worse" : "better", "x": number((x(change.index) + x(max(0, change.index - 1))) / 2), "top": Self.top,
            "bottom": Self.height - Self.bottom, "textY": Self.top - 4, "number": index + 1,
        ]
    }

    private var points: [[String: Any]] {
        trend.series.points.enumerated().map { index, point in
            let figure = point.value.map { "\(TrendTable.fixed($0)) \(trend.series.metric.unit)" } ?? point.failure ?? "no figure"
            let title = "\(point.build), \(TrendTable.day(point.date)): \(figure)"
            guard let value = point.value else {
                let path = "M\(number(x(index) - 3)) \(Self.height - Self.bottom - 6)l6 6m0 -6l-6 6"
                return ["failed": true, "path": path, "title": title]
            }
            if value < low || value > high {
                let step = value < low ? -5 : 5
                return [
                    "beyond": true, "path": "M\(number(x(index) - 4)) \(number(y(value) + Double(step)))h8l-4 \(-step)z", "title": title,
                ]
            }
            let radius = trend.series.points.count > 80 ? 1.4 : 2.2
            return ["shown": true, "x": number(x(index)), "y": number(y(value)), "radius": radius, "title": title]
        }
    }

    /// Labels of the first and the last build below the plot.
    private var ends: [[String: Any]] {
        guard let first = trend.series.points.first, let last = trend.series.points.last else { return [] }
        func end(_ point: HistorySeries.Point, isLast: Bool) -> [String: Any] {
            let build = point.build.count > 14 ? point.build.prefix(13) + "…" : point.build
            return [
                "isLast": isLast, "x": isLast ? Self.width - Self.right : Self.left, "y": Self.height - 6,
                "text": "\(build) · \(TrendTable.day(point.date))",
            ]
        }
        return [end(first, isLast: false)] + (trend.series.points.count > 1 ? [end(last, isLast: true)] : [])
    }
}
