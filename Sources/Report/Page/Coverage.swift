import BBConformance

/// Public test cases with the verdicts of the cases that cover them.
struct Coverage {
    private let rows: [PublicReport.Row]
    private let report: PublicReport
    /// For each case file, the result with its most significant verdict, to which its name leads.
    private var links: [String: String] = [:]

    init(_ result: RunResult, _ report: PublicReport) {
        self.report = report
        rows = report.rows.filter(\.isShown)
        for (file, rounds) in Dictionary(grouping: result.cases, by: { String($0.id.prefix { $0 != "[" }) }) {
            let worst = PublicReport.worst(of: rounds)
            links[file] = rounds.first { $0.verdict == worst }?.id
        }
    }

    var count: Int { rows.count }

    var line: String {
        let passed = rows.count { $0.verdict == Verdict.pass.rawValue }
        let partial = rows.count { $0.extent == "part" }
        var line = "\(rows.count) ids, \(passed) of them with nothing but PASS; of \(partial) only a part is checked."
        if let statement = report.statement {
            let ruledOut = report.rows.count { $0.applies == "no" }
            let findings = rows.count { !$0.finding.isEmpty }
            line += " The conformance statement \(statement) rules out \(ruledOut); it differs from the device in \(findings)."
        }
        return line
    }

    func html() -> String {
        rows.map { row in
            let cases = row.cases.map { link in
                let target = links[link.id] ?? link.id
                return ##"<a href="#\##(Markup.link(target))">\##(Markup.text(link.id))</a>"##
            }
            let part = row.extent == "part" ? #" <span class="soft">part</span>"# : ""
            let verdict = Verdict(rawValue: row.verdict).map(Markup.badge) ?? #"<span class="soft">\#(row.verdict)</span>"#
            let role = [row.role, row.revision].filter { !$0.isEmpty }.joined(separator: ", ")
            let remarks = [row.finding, row.applies == "open" ? "open: \(row.items)" : row.items, row.missing].filter { !$0.isEmpty }
            let cells = [
                Markup.text(row.id) + part, verdict, cases.joined(separator: ", "), Markup.text(remarks.joined(separator: "; ")),
                #"<span class="soft">\#(Markup.text(role))</span>"#,
            ]
            return "<tr>" + cells.map { "<td>\($0)</td>" }.joined() + "</tr>\n"
        }.joined()
    }
}
