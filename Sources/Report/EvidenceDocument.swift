import BBCases
import BBConformance

/// The results of runs by the requirements of a profile, as Markdown for a technical file.
///
/// A result is evidence for or against a requirement. The document has no verdict about a requirement.
public struct EvidenceDocument {
    /// A run with its place.
    public struct Run {
        var path: String
        var result: RunResult
        var facts: RunFacts

        public init(path: String, result: RunResult, facts: RunFacts) { (self.path, self.result, self.facts) = (path, result, facts) }
    }

    private let profile: AccessoryProfile
    private let runs: [Run]
    private let cases: [String]

    /// - Parameter cases: the ids of all cases that exist, in order.
    public init(_ profile: AccessoryProfile, _ runs: [Run], cases: [String]) {
        (self.profile, self.runs, self.cases) = (profile, runs, cases)
    }

    public var text: String {
        var lines = ["# \(profile.title)", "", Self.cell(profile.revision), ""]
        lines += [
            "This page lists test results. It does not say that a product conforms: a result is evidence for one assessment of a "
                + "requirement, and an assessment also needs documents that no test over the air replaces. A PASS covers what the case tries, "
                + "and no more.",
            "",
        ]
        lines += runsTable + overview
        let areas = Set(profile.rules.values.compactMap { $0.evidence?.area }).sorted()
        for area in areas {
            lines += ["## \(Self.cell(area.prefix(1).uppercased() + area.dropFirst()))", ""]
            for rule in rules(in: area) { lines += section(rule) }
        }
        return lines.joined(separator: "\n")
    }

    private func rules(in area: String) -> [AccessoryProfile.Rule] {
        profile.rules.values.filter { $0.evidence?.area == area }.sorted { $0.name < $1.name }
    }

    // MARK: Runs

    private var runsTable: [String] {
        let rows = runs.enumerated().map { index, run in
            let labels = run.result.labels.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }
            let counts = Verdict.allCases.filter { run.result.count($0) > 0 }.map { "\(run.result.count($0)) \($0.rawValue)" }
            let ends = run.result.isInterrupted ? counts + ["stopped before its end"] : counts
            let cells = [
                "\(index + 1)", run.result.product?.line ?? run.result.subject, run.facts.date, labels.joined(separator: ", "),
                "bluebench \(run.facts.version), seed \(run.result.seed)", ends.joined(separator: ", "), run.path,
            ]
            return "| " + cells.map(Self.cell).joined(separator: " | ") + " |"
        }
        return ["| run | product | date (UTC) | labels | program | verdicts | results |", "|---|---|---|---|---|---|---|"] + rows + [""]
    }

    // MARK: Requirements

    /// The results of the cases of a rule.
    private struct Findings {
        var passed: [String] = []
        var against: [String] = []
        var open: [String] = []
        var untried: [String] = []

        var summary: String {
            let parts = [(passed.count, "for"), (against.count, "against"), (open.count, "not settled"), (untried.count, "not tried")]
            return parts.filter { $0.0 > 0 }.map { "\($0.0) \($0.1)" }.joined(separator: ", ")
        }
    }

    private var overview: [String] {
        let rows = Set(profile.rules.values.compactMap { $0.evidence?.area }).sorted().flatMap { area in
            rules(in: area).map { rule in
                let summary = findings(rule).summary
                let results = summary.isEmpty ? "no test over the air" : summary
                let cells = [Self.cell(rule.section), Self.cell(area), rule.level.rawValue, results]
                return "| " + cells.joined(separator: " | ") + " |"
            }
        }
        return ["| requirement | area | level | results |", "|---|---|---|---|"] + rows + [""]
    }

    private func findings(_ rule: AccessoryProfile.Rule) -> Findings {
        var found = Findings()
        for id in cases where rule.evidence?.includes(id) == true {
            let name = "`\(Self.plain(id))`"
            var wasTried = false
            for (index, run) in runs.enumerated() {
                guard let result = run.result.cases.first(where: { $0.id == id }), !result.isNotRun else { continue }
                let place = runs.count > 1 ? "run \(index + 1): " : ""
                switch result.verdict {
                case .pass: found.passed.append(place + name)
                case .fail: found.against.append(place + "\(name): \(Self.remark(result))")
                case .inconclusive, .error: found.open.append(place + "\(name): \(Self.remark(result))")
                case .notApplicable: continue
                }
                wasTried = true
            }
            if !wasTried { found.untried.append(name) }
        }
        return found
    }

    private static func remark(_ result: CaseResult) -> String {
        let packets = result.evidence.map(\.packet).filter { $0 > 0 }
        let place =
            packets.isEmpty ? "" : " (packet \(packets.map(String.init).joined(separator: ", ")) of \(result.capture ?? "the capture"))"
        return cell(result.message + place)
    }

    private func section(_ rule: AccessoryProfile.Rule) -> [String] {
        let found = findings(rule)
        var lines = ["### \(Self.cell(rule.section)) (\(rule.level.rawValue))", "", Self.cell(rule.says), ""]
        for (title, rows) in [("Evidence against", found.against), ("Not settled", found.open)] where !rows.isEmpty {
            lines += ["**\(title):**", ""] + rows.map { "- \($0)" } + [""]
        }
        for (title, rows) in [("Evidence for", found.passed), ("Not tried, or not about this product", found.untried)] where !rows.isEmpty {
            lines += ["**\(title):** " + rows.joined(separator: ", "), ""]
        }
        if let beyond = rule.evidence?.beyond { lines += ["**No test over the air shows:** " + Self.cell(beyond), ""] }
        return lines
    }

    // MARK: Text

    private static func cell(_ text: String) -> String { MarkdownText.cell(text) }
    private static func plain(_ text: String) -> String { MarkdownText.plain(text) }
}
