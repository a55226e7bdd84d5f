import Foundation
import Testing

@testable import BBHistory

struct TrendPlotTests {
    private static func plot(_ values: [Double]) throws -> TrendPlot {
        let points = values.enumerated().map { index, value in
            HistorySeries.Point(
                run: Int64(index), date: "2026-01-01T00:00:00", build: "b\(index)", value: value, deviation: 0, repetitions: 1,
                ceiling: nil,
                failure: nil)
        }
        return TrendPlot(Trend(HistorySeries(setup: "setup", setupNumber: 1, name: "row", metric: .goodput, points: points)))
    }

    private static func number(_ text: Any?) -> Double { Double(text as? String ?? "") ?? .nan }

    /// A drop of 3.7 % with or without a bad night that has less than half of the figure.
    @Test(arguments: [[], [360.0], [360, 1_900]]) func aBadNightDoesNotFlattenTheLevels(outliers: [Double]) throws {
        let fields = try Self.plot(
            [805, 806, 804, 805, 806, 805, 804] + outliers + [805, 806, 804, 775, 776, 775, 774, 775, 776, 775, 774, 775]
        ).fields
        let levels = try #require(fields["levels"] as? [[String: Any]])
        let places = levels.map { Self.number($0["y"]) }
        #expect(places.count == 2 && (places.last ?? 0) - (places.first ?? 0) > 50)
        let points = try #require(fields["points"] as? [[String: Any]])
        let beyond = points.filter { $0["beyond"] as? Bool == true }
        #expect(beyond.compactMap { $0["title"] as? String }.count == outliers.count)
        for (outlier, point) in zip(outliers, beyond) { #expect((point["title"] as? String)?.contains("\(Int(outlier))") == true) }
        #expect(points.filter { $0["shown"] as? Bool == true }.count == points.count - outliers.count)
    }

    /// Near points lie inside the plot, with no level between them, or one that has no noise.
    @Test(arguments: [[800.0], [800, 800, 800, 801], [800, 790, 810, 795]]) func nearPointsAreShown(values: [Double]) throws {
        let points = try #require(try Self.plot(values).fields["points"] as? [[String: Any]])
        #expect(points.allSatisfy { $0["shown"] as? Bool == true && (16...128).contains(Self.number($0["y"])) })
    }
}
