import Foundation

/// One trend as an SVG picture: points, levels with their noise, and numbered marks where a level begins.
struct TrendPlot {
    private static let (width, height) = (360.0, 150.0)
    private static let (left, right, top, bottom) = (44.0, 6.0, 16.0, 22.0)

    let trend: Trend
    private let low: Double
    private let high: Double

    init(_ trend: Trend) {
        self.trend = trend
        let values = trend.series.points.compactMap(\.value) + trend.levels.flatMap { [$0.median - $0.band, $0.median + $0.band] }
        let (least, most) = (values.min() ?? 0, values.max() ?? 1)
        let room = max((most - least) * 0.08, abs(most) * 0.002, 0.001)
        (low, high) = (least - room, most + room)
    }

    var svg: String {
        let label = HistoryPage.escaped(
            "\(TrendTable.name(trend.series)): \(trend.series.points.count) runs. "
                + (trend.changes.isEmpty ? "No change." : trend.changes.map(TrendTable.text).joined(separator: ". ")))
        return #"<svg viewBox="0 0 \#(Int(Self.width)) \#(Int(Self.height))" role="img" aria-label="\#(label)">"#
            + grid + trend.levels.map(band).joined() + line + trend.changes.indices.map(mark).joined() + points + ends + "</svg>"
    }

    private func x(_ index: Int) -> Double {
        let count = trend.series.points.count
        let place = count < 2 ? 0.5 : Double(index) / Double(count - 1)
        return Self.left + 4 + place * (Self.width - Self.left - Self.right - 8)
    }

    private func y(_ value: Double) -> Double {
        Self.height - Self.bottom - (value - low) / (high - low) * (Self.height - Self.top - Self.bottom)
    }

    private func number(_ value: Double) -> String { String(format: "%.1f", value) }

    private var grid: String {
        let digits = high - low < 2 ? 2 : high - low < 20 ? 1 : 0
        return (0...3).map { step in
            let value = low + (high - low) * Double(step) / 3
            let at = number(y(value))
            return #"<line class="grid" x1="\#(Self.left)" x2="\#(Self.width - Self.right)" y1="\#(at)" y2="\#(at)"/>"#
                + #"<text class="end" x="\#(Self.left - 4)" y="\#(number(y(value) + 3))">\#(String(format: "%.\(digits)f", value))</text>"#
        }.joined()
    }

    private func band(_ level: Trend.Level) -> String {
        guard let last = level.range.last else { return "" }
        let (from, to) = (x(level.range.lowerBound) - 3, x(last) + 3)
        let (upper, lower) = (y(level.median + level.band), y(level.median - level.band))
        return
            #"<rect class="band" x="\#(number(from))" y="\#(number(upper))" width="\#(number(to - from))" height="\#(number(max(1, lower - upper)))"/>"#
            + #"<line class="level" x1="\#(number(from))" x2="\#(number(to))" y1="\#(number(y(level.median)))" y2="\#(number(y(level.median)))"/>"#
    }

    private var line: String {
        let places = trend.series.points.enumerated().compactMap { index, point in
            point.value.map { "\(number(x(index))),\(number(y($0)))" }
        }
        return #"<polyline class="line" points="\#(places.joined(separator: " "))"/>"#
    }

    private func mark(_ index: Int) -> String {
        let change = trend.changes[index]
        let at = number((x(change.index) + x(max(0, change.index - 1))) / 2)
        return
            #"<g class="\#(change.isWorse ? "worse" : "better")"><line x1="\#(at)" x2="\#(at)" y1="\#(Self.top)" y2="\#(Self.height - Self.bottom)"/>"#
            + #"<text class="mid" x="\#(at)" y="\#(Self.top - 4)">\#(index + 1)</text></g>"#
    }

    private var points: String {
        trend.series.points.enumerated().map { index, point in
            let title = HistoryPage.escaped(
                "\(point.build), \(TrendTable.day(point.date)): "
                    + (point.value.map { "\(TrendTable.fixed($0)) \(trend.series.metric.unit)" } ?? point.failure ?? "no figure"))
            guard let value = point.value else {
                let base = Self.height - Self.bottom
                return #"<path class="failed" d="M\#(number(x(index) - 3)) \#(base - 6)l6 6m0 -6l-6 6"><title>\#(title)</title></path>"#
            }
            return
                #"<circle cx="\#(number(x(index)))" cy="\#(number(y(value)))" r="\#(trend.series.points.count > 80 ? 1.4 : 2.2)"><title>\#(title)</title></circle>"#
        }.joined()
    }

    /// The first build and the last below the picture.
    private var ends: String {
        guard let first = trend.series.points.first, let last = trend.series.points.last else { return "" }
        func short(_ point: HistorySeries.Point) -> String {
            HistoryPage.escaped((point.build.count > 14 ? point.build.prefix(13) + "…" : point.build) + " · " + TrendTable.day(point.date))
        }
        let at = Self.height - 6
        return #"<text x="\#(Self.left)" y="\#(at)">\#(short(first))</text>"#
            + (trend.series.points.count > 1 ? #"<text class="end" x="\#(Self.width - Self.right)" y="\#(at)">\#(short(last))</text>"# : "")
    }
}
