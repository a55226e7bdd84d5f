import BBCases

/// Readable descriptions of cases.
public enum CaseExplanation {
    public static func suggestion(for id: String, in catalogue: Catalogue) -> String {
        Suggestion.text(for: id, among: catalogue.cases.map(\.id))
    }

    /// Describes a case; lists the titles if the name, such as a suite's, matches several cases.
    public static func text(of id: String, in catalogue: Catalogue) -> String? {
        let found = catalogue.cases.filter { CaseFilter.matches($0.id, id) }
        guard let testCase = found.first else { return nil }
        guard found.allSatisfy({ $0.file == testCase.file }) else {
            return found.map { "\($0.id): \($0.title)" }.joined(separator: "\n")
        }
        var lines = ["\(testCase.id): \(testCase.title)", "", testCase.purpose, ""]
        lines.append("subject   \(testCase.subject.rawValue)")
        lines.append("judges    \(testCase.reference)")
        if let needs = testCase.needs { lines.append("needs     \(needs)") }
        if let rule = testCase.rule {
            for profile in catalogue.profiles.keys.sorted() {
                if let rule = catalogue.rule(rule, of: profile) { lines.append("rule      \(rule.citation)") }
            }
        }
        for cover in testCase.covers { lines.append("covers    \(cover.id)\(cover.isFull ? "" : " in part")") }
        for tag in testCase.tags { lines.append("tag       \(tag): \(CaseTag.all[tag] ?? "")") }
        for parameter in testCase.parameters {
            let range = parameter.range.map { ", \($0.lowerBound) to \($0.upperBound)" } ?? ""
            lines.append("parameter \(parameter.name) = \(parameter.initial)\(range). \(parameter.about)")
        }
        lines.append("limits    \(testCase.limits.step.text) for a step, \(testCase.limits.run.text) for the case")
        if !testCase.world.isDefault { lines.append("world     packet error rate \(testCase.world.packetErrorRate)") }
        for (name, steps) in [("setup", testCase.setup), ("steps", testCase.steps), ("teardown", testCase.teardown)] where !steps.isEmpty {
            lines += ["", name]
            for step in steps { lines += words(step, depth: 1) }
        }
        lines += ["", testCase.position.file]
        return lines.joined(separator: "\n")
    }

    /// Returns a case as a message sequence; nil if the name matches no case or several.
    public static func sequence(of id: String, in catalogue: Catalogue) -> MessageSequence? {
        let found = catalogue.cases.filter { CaseFilter.matches($0.id, id) }
        guard let testCase = found.first, found.allSatisfy({ $0.file == testCase.file }) else { return nil }
        return MessageSequence(testCase)
    }

    private static func words(_ step: Step, depth: Int) -> [String] {
        let indent = String(repeating: "  ", count: depth)
        var line = indent + "- " + step.summary
        if case .expect(let expectation) = step.kind, !expectation.fields.isEmpty {
            line += " with " + expectation.fields.words(of: expectation.name).joined(separator: ", ")
        }
        if case .action(let action) = step.kind, let named = NamedActions.named(action.name) { line += ": \(named.about)" }
        if let condition = step.condition { line += ", if \(condition)" }
        var lines = [line]
        if let states = step.states { lines.append(indent + "  => " + states) }
        for inner in step.inner { lines += words(inner, depth: depth + 1) }
        return lines
    }
}
