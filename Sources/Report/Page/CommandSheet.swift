import BBConformance

/// Scorecard of a controller's commands: each command with the results of the cases that send it.
struct CommandSheet {
    let scorecard: CommandScorecard

    /// Counts of the supported commands by grade, and a sentence for each that was refused each time.
    var line: String {
        let counts = scorecard.claimedByGrade.map { "\($1) \($0)" }.joined(separator: ", ")
        return (["Of \(scorecard.claimedCount) commands that it claims: \(counts)"] + scorecard.contradictions).map { $0 + "." }
            .joined(separator: " ")
    }

    func html() -> String {
        scorecard.rows.map { row in
            let cases = (row.failed + row.passed + row.other).map { ##"<a href="#\##(Markup.link($0))">\##(Markup.text($0))</a>"## }
            let grade = Verdict(rawValue: row.grade).map(Markup.badge) ?? #"<span class="soft">\#(row.grade)</span>"#
            let claimed = row.claimed.map { $0 ? "yes" : "no" } ?? "no bit"
            return
                "<tr><td>\(Markup.text(row.command))</td><td>\(claimed)</td><td>\(grade)</td><td>\(cases.joined(separator: ", "))</td></tr>\n"
        }.joined()
    }
}
