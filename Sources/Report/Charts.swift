import BBConformance

/// Shares of the verdicts of a run as one bar.
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
                #"<rect class="\#(Markup.cssClass(verdict))" x="\#(JUnit.decimal(x, places: 1))" y="0" width="\#(JUnit.decimal(max(1, width - 2), places: 1))" height="10"><title>\#(name)</title></rect>"#
            x += width
        }
        return
            #"<svg class="share" viewBox="0 0 1000 10" preserveAspectRatio="none" role="img" aria-label="\#(words.joined(separator: ", "))">\#(parts)</svg>"#
    }
}

/// Theoretical maximum of each row, split into goodput and losses by cause, one line per row: name, bar, figure and limit. The parts wrap
/// on a narrow page.
enum ThroughputChart {
    private static let plotWidth = 1_000.0

    static func html(_ bars: [ThroughputBar]) -> String {
        let top = niceLimit(bars.map { max($0.ceiling, $0.whole) }.max() ?? 1)
        return bars.map { line($0, top: top) }.joined() + axis(top: top)
    }

    private static func line(_ bar: ThroughputBar, top: Double) -> String {
        let figures = "\(JUnit.decimal(bar.goodput, places: 1)) of \(JUnit.decimal(bar.ceiling, places: 1)) kbit/s"
        let title = Markup.text("\(bar.label): \(figures). \(bar.detail)")
        let share = Markup.text("\(JUnit.decimal(bar.percent, places: 1)) % · \(bar.limit)")
        let missing = bar.missing.map { ", \(JUnit.decimal($0.kbps, places: 1)) \($0.cause)" }.joined()
        return """
            <div class="bar" title="\(title)"><span class="name">\(Markup.text(bar.label))</span>\
            <svg class="chart" viewBox="0 0 1000 17" preserveAspectRatio="none" role="img" aria-label="\(Markup.text(figures + missing))">\
            \(grid)\(stack(bar, top: top))</svg>\
            <span class="figure">\(JUnit.decimal(bar.goodput, places: 1)) kbit/s</span><span class="limit">\(share)</span></div>
            """
    }

    /// Draws a bar of the goodput, followed by the losses.
    private static func stack(_ bar: ThroughputBar, top: Double) -> String {
        var x = 0.0
        let parts = [("goodput", bar.goodput, "goodput")] + bar.missing.map { ("c-" + $0.cause, $0.kbps, $0.cause + ": " + $0.text) }
        return parts.map { style, kbps, text in
            let width = max(0, kbps) / top * plotWidth
            defer { x += width }
            let place = #"x="\#(JUnit.decimal(x, places: 1))" y="3" width="\#(JUnit.decimal(width, places: 1))" height="11""#
            return
                #"<rect class="\#(style)" \#(place)><title>\#(JUnit.decimal(kbps, places: 1)) kbit/s \#(Markup.text(text))</title></rect>"#
        }.joined()
    }

    private static let grid = (0...4).map { step in
        let x = JUnit.decimal(plotWidth * Double(step) / 4, places: 0)
        return #"<line class="grid" x1="\#(x)" y1="0" x2="\#(x)" y2="17"/>"#
    }.joined()

    private static func axis(top: Double) -> String {
        let ticks = (0...4).map { "<span>\(JUnit.decimal(top * Double($0) / 4, places: 0))</span>" }
        return #"<div class="bar axis"><span class="name"></span><span class="ticks">\#(ticks.joined())</span></div>"#
    }

    /// The next of 1, 2, 2.5, 4 and 5 times a power of ten, which four grid lines divide evenly.
    static func niceLimit(_ value: Double) -> Double {
        guard value.isFinite, value > 0 else { return 1 }
        var power = 1.0
        while power * 10 <= value { power *= 10 }
        while power > value { power /= 10 }
        return [1, 1.2, 1.6, 2, 2.4, 3.2, 4, 6, 8, 10].map { $0 * power }.first { $0 >= value } ?? value
    }
}
