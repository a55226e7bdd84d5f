import BBThroughput
import BBTraffic

/// The part of a page that compares figures with their ceilings.
struct ThroughputSection {
    let bars: [ThroughputBar]

    init(_ bars: [ThroughputBar]) { self.bars = bars }

    var fields: [String: Any] {
        var groups: [(String, [ThroughputBar])] = []
        for bar in bars {
            if let index = groups.firstIndex(where: { $0.0 == bar.group }) {
                groups[index].1.append(bar)
            } else {
                groups.append((bar.group, [bar]))
            }
        }
        let maps = HeatMap.html(bars)
        let causes = Limit.allCases.map(\.rawValue).filter { cause in bars.contains { $0.missing.contains { $0.cause == cause } } }
        return [
            "hasThroughput": !bars.isEmpty, "maps": maps, "hasMaps": !maps.isEmpty,
            "groups": groups.map { ["name": $0.0, "chart": ThroughputChart.html($0.1)] },
            "causes": [["name": "goodput", "class": "goodput"]] + causes.map { ["name": $0, "class": "c-" + $0] },
        ]
    }
}
