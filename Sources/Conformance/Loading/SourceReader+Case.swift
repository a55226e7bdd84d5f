import Packets
import Yams

extension SourceReader {
    private static let caseKeys = [
        "title", "purpose", "subject", "covers", "tags", "needs", "parameters", "limits", "world", "setup", "steps", "teardown",
    ]

    /// A whole case file.
    mutating func testCase(_ root: Node, id: String) -> TestCase? {
        guard var keys = keys(root, of: "a case") else { return nil }
        let position = position(root)
        let subject = subject(keys.take("subject"))
        isAccessoryCase = subject == .accessory
        let title = required(keys.take("title"), "title", at: position)
        let purpose = required(keys.take("purpose"), "purpose", at: position)
        let parameters = parameters(keys.take("parameters"))
        saved += parameters.map(\.name)
        let tags = tags(keys.take("tags"))
        let testCase = TestCase(
            id: id, position: position, title: title, purpose: purpose, subject: subject, covers: covers(keys.take("covers")),
            tags: tags.map(\.name), needs: requirement(keys.take("needs"), "needs"), parameters: parameters,
            limits: limits(keys.take("limits")),
            world: world(keys.take("world")), setup: steps(keys.take("setup"), "setup"), steps: steps(keys.take("steps"), "steps"),
            teardown: steps(keys.take("teardown"), "teardown"))
        finish(keys, of: "a case", allowed: Self.caseKeys)
        if testCase.steps.isEmpty { report(position, "the case has no steps") }
        if !testCase.steps.isEmpty, !testCase.statesSomething {
            report(position, "no step has `states:`, so the case checks no requirement")
        }
        checkNames(extra: [])
        for tag in tags {
            if let obstacle = testCase.obstacle(to: tag.name) { report(tag.position, "it cannot have the tag '\(tag.name)': \(obstacle)") }
        }
        if usesAir, testCase.needs?.names.contains("air") != true {
            report(position, "the case has air steps, so it must say `needs: air`")
        }
        return testCase
    }

    /// A procedure file: steps for use in cases.
    mutating func procedure(_ root: Node, name: String) -> Procedure? {
        guard var keys = keys(root, of: "a procedure") else { return nil }
        let about = required(keys.take("about"), "about", at: position(root))
        let parameters = parameters(keys.take("parameters"))
        saved += parameters.map(\.name)
        let steps = steps(keys.take("steps"), "steps")
        let gives = keys.take("gives").map { openEntries($0) } ?? []
        finish(keys, of: "a procedure", allowed: ["about", "parameters", "steps", "gives"])
        checkNames(extra: [])
        return Procedure(name: name, position: position(root), about: about, parameters: parameters, steps: steps, gives: gives)
    }

    /// References must lead to parameters or saved results, and `since:` to a step's name.
    private mutating func checkNames(extra: [String]) {
        let known = Set(saved + extra + Self.ambient)
        for reference in references where !known.contains(reference.name) {
            report(reference.position, "nothing is saved as '\(reference.name)'" + Suggestion.text(for: reference.name, among: known))
        }
        let names = Set(labels.map(\.name))
        for since in sinces where since.name != "start" && !names.contains(since.name) {
            report(since.position, "no step has the name '\(since.name)'" + Suggestion.text(for: since.name, among: names))
        }
    }

    /// Saved before the first step: the addresses of both ends.
    static let ambient = ["tester", "subject"]

    private mutating func required(_ node: Node?, _ what: String, at position: Position) -> String {
        if let node { return text(node, what) ?? "" }
        report(position, "'\(what)' is missing")
        return ""
    }

    private mutating func subject(_ node: Node?) -> SubjectKind {
        guard let node, let text = text(node, "subject") else { return .controller }
        if let kind = SubjectKind(rawValue: text) { return kind }
        report(
            node,
            "a subject is controller or accessory, not '\(text)'" + Suggestion.text(for: text, among: SubjectKind.allCases.map(\.rawValue)))
        return .controller
    }

    private mutating func covers(_ node: Node?) -> [Cover] {
        guard let node, let keys = keys(node, of: "covers") else { return [] }
        return keys.entries.compactMap { entry in
            if !vocabulary.covers.contains(entry.name) {
                report(
                    entry.position, "there is no public case '\(entry.name)'" + Suggestion.text(for: entry.name, among: vocabulary.covers))
            }
            guard let extent = text(entry.node, "the extent"), extent == "full" || extent == "partial" else {
                report(entry.node, "a public case is covered `full` or `partial`")
                return nil
            }
            return Cover(id: entry.name, isFull: extent == "full", position: entry.position)
        }
    }

    private mutating func tags(_ node: Node?) -> [(name: String, position: Position)] {
        sequence(node, "tags").compactMap { node in
            guard let name = text(node, "a tag") else { return nil }
            guard CaseTag.all[name] != nil else {
                report(node, "there is no tag '\(name)'" + Suggestion.text(for: name, among: CaseTag.all.keys))
                return nil
            }
            return (name, position(node))
        }
    }

    private mutating func parameters(_ node: Node?) -> [Parameter] {
        guard let node, let keys = keys(node, of: "parameters") else { return [] }
        return keys.entries.compactMap { parameter($0.name, $0.node, $0.position) }
    }

    private mutating func parameter(_ name: String, _ node: Node, _ position: Position) -> Parameter? {
        guard case .mapping = node else {
            return Parameter(name: name, initial: literal(operand(node)), range: nil, about: "", position: position)
        }
        guard var keys = keys(node, of: "parameter \(name)") else { return nil }
        guard let initial = keys.take("default") else {
            report(position, "parameter \(name) has no default")
            return nil
        }
        let value = literal(operand(initial))
        var range: ClosedRange<Int>?
        if let node = keys.take("range") {
            let limits = sequence(node, "range").compactMap { integer($0, "range") }
            if limits.count == 2, limits[0] <= limits[1] {
                range = limits[0]...limits[1]
            } else {
                report(node, "a range has two limits: [low, high]")
            }
            if let range, case .number(let number) = value, !range.contains(number) {
                report(initial, "\(number) is outside the parameter's range of \(range.lowerBound) to \(range.upperBound)")
            }
        }
        let about = text(keys.take("about"), "about") ?? ""
        finish(keys, of: "a parameter", allowed: ["default", "range", "about"])
        return Parameter(name: name, initial: value, range: range, about: about, position: position)
    }

    private mutating func literal(_ operand: Operand) -> CaseValue {
        switch operand {
        case .literal(let value): return value
        case .reference(let reference):
            report(reference.position, "a value is expected here, not a reference")
            return .number(0)
        case .list(let list):
            var values: [CaseValue] = []
            for element in list { values.append(literal(element)) }
            return .list(values)
        case .record, .filled: return (try? Variables().resolve(operand)) ?? .number(0)
        }
    }

    private mutating func limits(_ node: Node?) -> Limits {
        var limits = Limits()
        guard let node, var keys = keys(node, of: "limits") else { return limits }
        if let step = duration(keys.take("step"), "step") { limits.step = step }
        if let run = duration(keys.take("case"), "case") { limits.run = run }
        finish(keys, of: "limits", allowed: ["step", "case"])
        return limits
    }

    private mutating func world(_ node: Node?) -> World {
        var world = World()
        guard let node, var keys = keys(node, of: "world") else { return world }
        if let rate = keys.take("packetErrorRate") {
            if let text = text(rate, "packetErrorRate"), let value = Double(text), (0...1).contains(value) {
                world.packetErrorRate = value
            } else {
                report(rate, "a packet error rate is a number from 0 to 1")
            }
        }
        world.tester = settings(keys.take("tester"))
        world.subject = settings(keys.take("subject"))
        finish(keys, of: "world", allowed: ["packetErrorRate", "tester", "subject"])
        return world
    }

    mutating func settings(_ node: Node?) -> [ControllerSetting] {
        guard let node, let keys = keys(node, of: "the settings") else { return [] }
        return keys.entries.map { entry in
            if !vocabulary.settings.contains(entry.name) {
                report(entry.position, "there is no setting '\(entry.name)'" + Suggestion.text(for: entry.name, among: vocabulary.settings))
            }
            return ControllerSetting(name: entry.name, value: literal(operand(entry.node)), position: entry.position)
        }
    }
}

extension TestCase {
    /// Whether some step says which requirement it checks.
    var statesSomething: Bool { steps.contains { $0.anywhere { $0.states != nil } } }
}

extension Step {
    /// Whether the step or one inside it satisfies the test.
    func anywhere(_ test: (Step) -> Bool) -> Bool {
        test(self) || inner.contains { $0.anywhere(test) }
    }

    /// The steps inside a step.
    var inner: [Step] {
        switch kind {
        case .repeated(_, _, let steps), .until(_, _, let steps): steps
        case .parallel(let branches), .either(let branches): branches.flatMap { $0 }
        case .send, .action, .expect, .expectNone, .measure, .air, .check, .wait, .procedure: []
        }
    }
}
