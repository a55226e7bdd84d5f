import BBThroughput

/// Percentage of the ceiling by PHY and connection interval, one table per flow.
enum HeatMap {
    static func html(_ bars: [ThroughputBar]) -> String {
        var flows: [(name: String, bars: [ThroughputBar])] = []
        for bar in bars where bar.interval != nil {
            if let index = flows.firstIndex(where: { $0.name == bar.flow }) {
                flows[index].bars.append(bar)
            } else {
                flows.append((bar.flow, [bar]))
            }
        }
        return flows.map(table).joined()
    }

    private static func table(_ name: String, _ bars: [ThroughputBar]) -> String {
        let intervals = Set(bars.compactMap(\.interval)).sorted()
        var phys: [String] = []
        for bar in bars where !phys.contains(bar.phy) { phys.append(bar.phy) }
        let head = intervals.map { #"<th scope="col">\#(figure($0)) ms</th>"# }.joined()
        let rows = phys.map { phy in
            let cells = intervals.map { interval in cell(bars.first { $0.phy == phy && $0.interval == interval }) }
            return #"<tr><th scope="row">\#(Markup.text(phy))</th>\#(cells.joined())</tr>"#
        }
        return """
            <table><caption>\(Markup.text(name))</caption><thead><tr><td class="none"></td>\(head)</tr></thead><tbody>\(rows.joined())</tbody></table>

            """
    }

    private static func cell(_ bar: ThroughputBar?) -> String {
        guard let bar else { return #"<td class="none">–</td>"# }
        guard bar.limit != ThroughputBar.failed else { return #"<td class="none">failed</td>"# }
        let share = max(0, min(100, bar.percent))
        let rest = bar.whole > 0 ? " · \(JUnit.decimal(bar.goodput / bar.whole * 100, places: 0)) %" : ""
        return """
            <td style="--share:\(JUnit.decimal(share, places: 0))"><b>\(JUnit.decimal(bar.percent, places: 0)) %</b>\
            <small>\(JUnit.decimal(bar.goodput, places: 0))\(rest)</small></td>
            """
    }

    /// A number without trailing zeros.
    static func figure(_ value: Double) -> String {
        value == value.rounded() ? JUnit.decimal(value, places: 0) : JUnit.decimal(value, places: 2)
    }
}
