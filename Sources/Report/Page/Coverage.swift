import BBConformance

/// Public test case ids, with the verdicts of the corresponding cases.
struct Coverage {
    private struct Row {
        var id: String
        var cases: [CaseResult] = []
        /// True if no case covers the test completely.
        var isPartial = true
    }

    private var rows: [Row] = []

    init(_ result: RunResult) {
        var places: [String: Int] = [:]
        for testCase in result.cases {
            for (ids, isPartial) in [(testCase.covers, false), (testCase.partialCovers, true)] {
                for id in ids {
                    let place = places[id] ?? rows.count
                    if place == rows.count {
                        places[id] = place
                        rows.append(Row(id: id))
                    }
                    rows[place].cases.append(testCase)
                    if !isPartial { rows[place].isPartial = false }
                }
            }
        }
        rows.sort { $0.id < $1.id }
    }

    var count: Int { rows.count }

    var line: String {
        let passed = rows.count { Self.worst(of: $0.cases) == .pass }
        let partial = rows.count(where: \.isPartial)
        return "\(rows.count) ids, \(passed) of them with nothing but PASS; of \(partial) only a part is checked."
    }

    func html() -> String {
        rows.map { row in
            let links = row.cases.map { ##"<a href="#\##(Markup.link($0.id))">\##(Markup.text($0.id))</a>"## }
            let part = row.isPartial ? #" <span class="soft">part</span>"# : ""
            return
                "<tr><td>\(Markup.text(row.id))\(part)</td><td>\(Markup.badge(Self.worst(of: row.cases)))</td><td>\(links.joined(separator: ", "))</td></tr>\n"
        }.joined()
    }

    /// The most significant verdict: FAIL before all others, PASS before N/A.
    private static func worst(of cases: [CaseResult]) -> Verdict {
        [.fail, .error, .inconclusive, .pass].first { verdict in cases.contains { $0.verdict == verdict } } ?? .notApplicable
    }
}
