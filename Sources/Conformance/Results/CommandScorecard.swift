import BBCases
import BBPackets

/// The results of a run for one controller by command.
public struct CommandScorecard: Sendable, Codable {
    public struct Row: Sendable, Codable, Hashable {
        public var command: String
        /// True if the command's bit in Supported_Commands is set; nil if it has no bit.
        public var claimed: Bool?
        /// The cases that send the command to the subject, by verdict.
        public var passed: [String]
        public var failed: [String]
        public var other: [String]
        /// The refusals of a claimed command that was refused at each step that needs it; nil for any other command.
        public var refused: [String]?

        /// The grade: FAIL takes precedence over PASS, and other verdicts do not judge the command.
        public var grade: String { !failed.isEmpty ? "FAIL" : !passed.isEmpty ? "PASS" : other.isEmpty ? "no case" : "not judged" }
    }

    public var rows: [Row]

    /// - Parameters:
    ///   - planned: the cases of the run.
    ///   - claimed: the commands whose bits the subject has set.
    ///   - isWhole: false if results of another run are among them, about whose commands nothing is known.
    init(_ catalogue: Catalogue, _ planned: [TestCase], _ results: [CaseResult], claimed: Set<String>, isWhole: Bool = true) {
        let refused = isWhole ? CommandConduct.refusedEachTime(in: results) : [:]
        var senders: [String: [CaseResult]] = [:]
        let cases = Dictionary(planned.map { ($0.id, $0) }) { first, _ in first }
        for result in results {
            guard let testCase = cases[result.id] else { continue }
            for name in testCase.commands(at: .subject, catalogue) { senders[name, default: []].append(result) }
        }
        rows = claimed.union(senders.keys).sorted().map { name in
            let found = senders[name] ?? []
            let ids = { (verdicts: Set<Verdict>) in found.filter { verdicts.contains($0.verdict) }.map(\.id) }
            return Row(
                command: name, claimed: Features.commands.contains(name) ? claimed.contains(name) : nil, passed: ids([.pass]),
                failed: ids([.fail]),
                other: ids([.inconclusive, .notApplicable, .error]), refused: refused[name])
        }
    }

    /// A sentence for each command that the controller claims and has refused each time.
    public var contradictions: [String] {
        rows.compactMap { row in
            guard let refused = row.refused, let first = refused.first else { return nil }
            let times = refused.count == 1 ? "the only time" : "each of \(refused.count) times"
            return "\(row.command) is claimed in Supported_Commands, and refused \(times): \(first)"
        }
    }

    /// The number of commands that the controller claims to support.
    public var claimedCount: Int { rows.count { $0.claimed == true } }

    /// The number of those commands with each grade that occurs.
    public var claimedByGrade: [(grade: String, count: Int)] {
        let counts = Dictionary(grouping: rows.filter { $0.claimed == true }, by: \.grade).mapValues(\.count)
        return ["PASS", "FAIL", "not judged", "no case"].compactMap { grade in counts[grade].map { (grade, $0) } }
    }

    /// Returns a table in Markdown.
    public func markdown(of subject: String) -> String {
        let words = claimedByGrade.map { "\($1) \($0)" }
        var lines = [
            "# \(subject), command by command", "",
            "Of \(claimedCount) commands that it claims: \(words.joined(separator: ", ")).", "",
        ]
        if !contradictions.isEmpty { lines += contradictions.map { "- \($0)." } + [""] }
        lines += ["| command | claimed | verdict | cases |", "|---|---|---|---|"]
        for row in rows {
            let cases = row.failed.map { "**\($0)**" } + row.passed + row.other
            lines.append(
                "| \(row.command) | \(row.claimed.map { $0 ? "yes" : "no" } ?? "no bit") | \(row.grade) | \(cases.joined(separator: ", ")) |"
            )
        }
        return lines.joined(separator: "\n") + "\n"
    }
}

extension TestCase {
    /// Returns the commands that the case sends on a side, including those in procedures.
    func commands(at side: Side, _ catalogue: Catalogue) -> Set<String> {
        var found: Set<String> = []
        for step in castSteps(catalogue) where step.side == side {
            switch step.kind {
            case .send(let command): found.insert(command.name)
            case .action(let action): found.formUnion(NamedActions.named(action.name)?.commands ?? [])
            default: break
            }
        }
        return found
    }

    /// Returns true if a step acts or observes at the tester.
    func needsTester(_ catalogue: Catalogue) -> Bool {
        guard subject == .controller else { return true }
        return castSteps(catalogue).contains { step in
            switch step.kind {
            case .send, .action, .expect, .expectNone, .measure, .until: step.side == .tester
            case .air: true
            case .check, .wait, .mark, .repeated, .each, .attempts, .parallel, .either, .procedure: false
            }
        }
    }
}

extension Catalogue {
    /// Returns true if some of the selected cases can run on a single controller.
    public func hasCasesForOne(_ names: [String]) -> Bool {
        guard !names.isEmpty, let chosen = try? RunPlan.select(cases, names) else { return false }
        return chosen.contains { !$0.needsTester(self) }
    }
}
