import Conformance

/// How the verdicts share the run, as one bar.
enum VerdictShare {
    static func svg(_ result: RunResult) -> String {
        let total = max(1, result.cases.count)
        var x = 0.0
        var parts = ""
        var words: [String] = []
        for verdict in Verdict.allCases where result.count(verdict) > 0 {
            let width = Double(result.count(verdict)) / Double(total) * 1_000
            let name = "\(result.count(verdict)) \(verdict.rawValue)"
            words.append(name)
            parts +=
                #"<rect class="\#(HTMLPage.cssClass(verdict))" x="\#(JUnit.decimal(x, places: 1))" y="0" width="\#(JUnit.decimal(max(1, width - 2), places: 1))" height="10" rx="2"><title>\#(name)</title></rect>"#
            x += width
        }
        return
            #"<svg class="share" viewBox="0 0 1000 10" preserveAspectRatio="none" role="img" aria-label="\#(words.joined(separator: ", "))">\#(parts)</svg>"#
    }
}

/// Goodput bars inside their ceilings, one line for each row.
enum ThroughputChart {
    private static let labelWidth = 250.0
    private static let plotWidth = 470.0
    private static let lineHeight = 26

    static func svg(_ bars: [ThroughputBar], title: String) -> String {
        let top = niceLimit(bars.map { max($0.ceiling, $0.goodput) }.max() ?? 1)
        let height = bars.count * lineHeight + 34
        var parts = axis(top: top, height: height - 24)
        for (index, bar) in bars.enumerated() { parts += line(bar, y: index * lineHeight + 8, top: top) }
        let label = JUnit.escape("Goodput against its ceiling, \(title)")
        return #"<svg class="chart" viewBox="0 0 960 \#(height)" role="img" aria-label="\#(label)">\#(parts)</svg>"#
    }

    private static func line(_ bar: ThroughputBar, y: Int, top: Double) -> String {
        let goodput = max(0, bar.goodput) / top * plotWidth
        let ceiling = max(0, bar.ceiling) / top * plotWidth
        let title = JUnit.escape(
            "\(bar.label): \(JUnit.decimal(bar.goodput, places: 1)) of \(JUnit.decimal(bar.ceiling, places: 1)) kbit/s. \(bar.detail)")
        let figure = "\(JUnit.decimal(bar.goodput, places: 1)) kbit/s"
        let share = "\(JUnit.decimal(bar.percent, places: 1)) % · \(bar.limit)"
        return """
            <g><title>\(title)</title>\
            <text class="label" x="\(Int(labelWidth) - 10)" y="\(y + 13)" text-anchor="end">\(JUnit.escape(bar.label))</text>\
            <rect class="ceiling" x="\(Int(labelWidth))" y="\(y)" width="\(JUnit.decimal(ceiling, places: 1))" height="17" rx="3"/>\
            <rect class="goodput" x="\(Int(labelWidth))" y="\(y + 3)" width="\(JUnit.decimal(goodput, places: 1))" height="11" rx="2"/>\
            <text class="figure" x="\(Int(labelWidth + plotWidth) + 95)" y="\(y + 13)" text-anchor="end">\(figure)</text>\
            <text class="limit" x="\(Int(labelWidth + plotWidth) + 105)" y="\(y + 13)">\(JUnit.escape(share))</text></g>
            """
    }

    private static func axis(top: Double, height: Int) -> String {
        (0...4).map { step in
            let x = JUnit.decimal(labelWidth + plotWidth * Double(step) / 4, places: 1)
            let value = JUnit.decimal(top * Double(step) / 4, places: 0)
            return
                #"<line class="grid" x1="\#(x)" y1="2" x2="\#(x)" y2="\#(height)"/><text class="tick" x="\#(x)" y="\#(height + 16)" text-anchor="middle">\#(value)</text>"#
        }.joined()
    }

    /// The next of 1, 2, 2.5, 4, 5 times a power of ten, divided evenly by four grid lines.
    static func niceLimit(_ value: Double) -> Double {
        guard value.isFinite, value > 0 else { return 1 }
        var power = 1.0
        while power * 10 <= value { power *= 10 }
        while power > value { power /= 10 }
        return [1, 1.2, 1.6, 2, 2.4, 3.2, 4, 6, 8, 10].map { $0 * power }.first { $0 >= value } ?? value
    }
}
