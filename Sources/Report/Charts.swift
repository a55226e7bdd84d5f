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

/// Goodput bars inside their ceilings, one line for each row: name, bar, figure and what limits it, which move below one another where the page is narrow.
enum ThroughputChart {
    private static let plotWidth = 1_000.0

    static func html(_ bars: [ThroughputBar]) -> String {
        let top = niceLimit(bars.map { max($0.ceiling, $0.goodput) }.max() ?? 1)
        return bars.map { line($0, top: top) }.joined() + axis(top: top)
    }

    private static func line(_ bar: ThroughputBar, top: Double) -> String {
        let figures = "\(JUnit.decimal(bar.goodput, places: 1)) of \(JUnit.decimal(bar.ceiling, places: 1)) kbit/s"
        let title = JUnit.escape("\(bar.label): \(figures). \(bar.detail)")
        let share = JUnit.escape("\(JUnit.decimal(bar.percent, places: 1)) % · \(bar.limit)")
        return """
            <div class="bar" title="\(title)"><span class="name">\(JUnit.escape(bar.label))</span>\
            <svg class="chart" viewBox="0 0 1000 17" preserveAspectRatio="none" role="img" aria-label="\(JUnit.escape(figures))">\(grid)\
            \(rectangle("ceiling", bar.ceiling / top, y: 1, height: 15))\(rectangle("goodput", bar.goodput / top, y: 4, height: 9))</svg>\
            <span class="figure">\(JUnit.decimal(bar.goodput, places: 1)) kbit/s</span><span class="limit">\(share)</span></div>
            """
    }

    private static func rectangle(_ name: String, _ share: Double, y: Int, height: Int) -> String {
        #"<rect class="\#(name)" x="0" y="\#(y)" width="\#(JUnit.decimal(max(0, share) * plotWidth, places: 1))" height="\#(height)"/>"#
    }

    private static let grid = (0...4).map { step in
        let x = JUnit.decimal(plotWidth * Double(step) / 4, places: 0)
        return #"<line class="grid" x1="\#(x)" y1="0" x2="\#(x)" y2="17"/>"#
    }.joined()

    private static func axis(top: Double) -> String {
        let ticks = (0...4).map { "<span>\(JUnit.decimal(top * Double($0) / 4, places: 0))</span>" }
        return #"<div class="bar axis"><span class="name"></span><span class="ticks">\#(ticks.joined())</span></div>"#
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
