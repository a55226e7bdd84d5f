import Cases
import Packets

/// What a run has found of one controller, command by command.
public struct CommandScorecard: Sendable, Codable {
    public struct Row: Sendable, Codable, Hashable {
        public var command: String
        /// Its bit in Supported_Commands is set; nil where it has none.
        public var claimed: Bool?
        /// Cases that send it to the subject, by what came of them.
        public var passed: [String]
        public var failed: [String]
        public var other: [String]

        /// In a word: a FAIL counts more than a PASS, and a case without either says nothing.
        public var grade: String { !failed.isEmpty ? "FAIL" : !passed.isEmpty ? "PASS" : other.isEmpty ? "no case" : "not judged" }
    }

    public var rows: [Row]

    /// - Parameter claimed: the commands whose bits the subject has set.
    init(_ catalogue: Catalogue, _ results: [CaseResult], claimed: Set<String>) {
        var senders: [String: [CaseResult]] = [:]
        let cases = Dictionary(catalogue.cases.map { ($0.id, $0) }) { first, _ in first }
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
                other: ids([.inconclusive, .notApplicable, .error]))
        }
    }

    /// How many commands the controller claims.
    public var claimedCount: Int { rows.count { $0.claimed == true } }

    /// How many of them have each grade, those that none has left out.
    public var claimedByGrade: [(grade: String, count: Int)] {
        let counts = Dictionary(grouping: rows.filter { $0.claimed == true }, by: \.grade).mapValues(\.count)
        return ["PASS", "FAIL", "not judged", "no case"].compactMap { grade in counts[grade].map { (grade, $0) } }
    }

    /// A table for people.
    public func markdown(of subject: String) -> String {
        let words = claimedByGrade.map { "\($1) \($0)" }
        var lines = [
            "# \(subject), command by command", "",
            "Of \(claimedCount) commands that it claims: \(words.joined(separator: ", ")).", "",
            "| command | claimed | verdict | cases |", "|---|---|---|---|",
        ]
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
    /// The commands that it sends at an end, procedures included.
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

    /// Whether some step acts or observes at the tester.
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
    /// Whether some of the cases that these names choose can run on one controller by itself.
    public func hasCasesForOne(_ names: [String]) -> Bool {
        guard !names.isEmpty, let chosen = try? RunPlan.select(cases, names) else { return false }
        return chosen.contains { !$0.needsTester(self) }
    }
}
