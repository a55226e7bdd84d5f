import Packets
import Yams

extension SourceReader {
    /// The first key of a step, which says what kind it is.
    static let stepKinds = [
        "send", "do", "expect", "none", "measure", "air", "check", "wait", "repeat", "parallel", "either", "until", "use",
    ]
    private static let common = ["as", "name", "states", "saveAs", "when", "limit"]

    mutating func steps(_ node: Node?, _ what: String, depth: Int = 0) -> [Step] {
        guard depth < 16 else {
            if let node { report(node, "steps are nested too deeply") }
            return []
        }
        return sequence(node, what).compactMap { step($0, depth: depth) }
    }

    private mutating func step(_ node: Node, depth: Int) -> Step? {
        guard var keys = keys(node, of: "a step") else { return nil }
        guard let kindName = Self.stepKinds.first(where: { keys.has($0) }), let head = keys.take(kindName) else {
            let near = keys.entries.lazy.map { Suggestion.text(for: $0.name, among: Self.stepKinds) }.first { !$0.isEmpty } ?? ""
            report(node, "a step begins with one of \(Self.stepKinds.joined(separator: ", "))" + near)
            return nil
        }
        let position = position(node)
        let label = text(keys.take("name"), "name")
        let states = text(keys.take("states"), "states")
        let saveAs = text(keys.take("saveAs"), "saveAs")
        let condition = requirement(keys.take("when"), "when")
        let limit = duration(keys.take("limit"), "limit")
        let needsSide = ["send", "do", "expect", "none", "measure", "air"].contains(kindName)
        let side = side(keys.take("as"), isNeeded: needsSide, at: position)
        guard let kind = kind(kindName, head, &keys, depth: depth) else { return nil }
        finish(keys, of: "a step '\(kindName)'", allowed: Self.allowed[kindName, default: []] + Self.common)
        if let label { labels.append((label, position)) }
        if let saveAs { saved.append(saveAs) }
        return Step(
            position: position, side: side, kind: kind, label: label, states: states, saveAs: saveAs, condition: condition, limit: limit)
    }

    private static let allowed: [String: [String]] = [
        "send": ["with", "raw", "trailing", "on", "answer"],
        "do": ["with", "result"],
        "expect": ["where", "within", "after", "since", "strict"],
        "none": ["where", "within", "since"],
        "measure": ["of", "where", "during", "is"],
        "air": ["pdu", "with", "where", "within", "after", "since", "times"],
        "check": ["is"], "wait": [], "repeat": ["counter", "steps"], "parallel": [], "either": [],
        "until": ["where", "within", "atMost", "steps"], "use": ["with"],
    ]

    private mutating func side(_ node: Node?, isNeeded: Bool, at position: Position) -> Side {
        guard let node, let text = text(node, "as") else {
            if isNeeded, !isAccessoryCase { report(position, "the step does not say who: `as: tester` or `as: subject`") }
            return .tester
        }
        guard let side = Side(rawValue: text) else {
            report(node, "'\(text)' is neither tester nor subject")
            return .tester
        }
        if side == .subject, isAccessoryCase { report(node, "an accessory has no HCI of its own here: only the tester acts and observes") }
        return side
    }

    private mutating func kind(_ name: String, _ head: Node, _ keys: inout Keys, depth: Int) -> Step.Kind? {
        switch name {
        case "send": return command(head, &keys).map { .send($0) }
        case "do": return action(head, &keys).map { .action($0) }
        case "expect": return expectation(head, &keys).map { .expect($0) }
        case "none": return expectation(head, &keys).map { .expectNone($0) }
        case "measure": return measurement(head, &keys).map { .measure($0) }
        case "air": return airStep(head, &keys).map { .air($0) }
        case "check":
            let value = operand(head)
            guard let condition = keys.take("is") else {
                report(head, "check needs `is:`")
                return nil
            }
            return .check(value, predicate(condition))
        case "wait": return length(head, "wait").map { .wait($0) }
        case "repeat":
            let counter = text(keys.take("counter"), "counter")
            if let counter { saved.append(counter) }
            return .repeated(times: operand(head), counter: counter, steps(keys.take("steps"), "steps", depth: depth + 1))
        case "parallel": return .parallel(sequence(head, "parallel").map { steps($0, "a branch", depth: depth + 1) })
        case "either": return either(head, depth: depth)
        case "until":
            guard let awaited = expectation(head, &keys) else { return nil }
            let atMost = integer(keys.take("atMost"), "atMost") ?? 100
            return .until(awaited, atMost: atMost, steps(keys.take("steps"), "steps", depth: depth + 1))
        case "use":
            guard let name = text(head, "use") else { return nil }
            uses.append((name, position(head)))
            return .procedure(Use(name: name, arguments: keys.take("with").map { openEntries($0) } ?? []))
        default: return nil
        }
    }

    private mutating func either(_ node: Node, depth: Int) -> Step.Kind? {
        let branches = sequence(node, "either").map { steps($0, "a branch", depth: depth + 1) }
        for (branch, source) in zip(branches, sequence(node, "either")) {
            guard case .expect? = branch.first?.kind else {
                report(source, "each branch of either begins with an expect")
                return nil
            }
        }
        return branches.count < 2 ? nil : .either(branches)
    }

    mutating func openEntries(_ node: Node) -> [Operand.Entry] {
        guard let keys = keys(node, of: "with") else { return [] }
        return entries(keys, of: "with", fields: [])
    }

    // MARK: Acting

    private mutating func command(_ head: Node, _ keys: inout Keys) -> Command? {
        guard let name = text(head, "send") else { return nil }
        let known = pdu(named: name, at: head, [.command, .att, .smp, .signalling])
        let fields = known?.fields ?? []
        var entries: [Operand.Entry] = []
        if let with = keys.take("with"), let values = self.keys(with, of: "with") {
            if fields.isEmpty, known != nil, let first = values.entries.first { report(first.position, "\(name) has no fields") }
            entries = self.entries(values, of: name, fields: fields)
        }
        let raw = keys.take("raw").map { operand($0) }
        if raw != nil, !entries.isEmpty { report(head, "a step has `with` or `raw`, not both") }
        let connection = keys.take("on").map { operand($0) }
        if let known, known.layer != .command, connection == nil { report(head, "\(name) needs a connection: `on: $link.tester`") }
        return Command(
            name: name, fields: entries, raw: raw, trailing: keys.take("trailing").map { operand($0) }, connection: connection,
            answer: answer(keys.take("answer"), of: known, name))
    }

    private mutating func answer(_ node: Node?, of pdu: Vocabulary.PDU?, _ name: String) -> Command.Answer {
        guard let node else { return .success }
        if case .scalar(let scalar) = node {
            if scalar.string == "ignored" { return .ignored }
            report(node, "answer is `ignored` or the fields that must come back")
            return .success
        }
        let returns =
            pdu?.returns ?? [Vocabulary.Field("Status", labels: vocabulary.pdus["Command_Status"]?.fields.first?.labels ?? [:])]
        return .fields(fieldPredicates(node, of: "the answer to \(name)", fields: returns))
    }

    private mutating func action(_ head: Node, _ keys: inout Keys) -> Action? {
        guard let name = text(head, "do") else { return nil }
        guard let shape = vocabulary.actions[name] else {
            report(head, "there is no action '\(name)'" + Suggestion.text(for: name, among: vocabulary.actions.keys))
            return nil
        }
        var arguments: [Operand.Entry] = []
        if let with = keys.take("with"), let values = self.keys(with, of: "with") {
            if shape.arguments.isEmpty, let first = values.entries.first { report(first.position, "\(name) takes no arguments") }
            arguments = entries(values, of: name, fields: shape.arguments.map { Vocabulary.Field($0.name) })
        }
        check(arguments, of: shape, at: head)
        let results = (shape.results + ["error"]).map { Vocabulary.Field($0) }
        return Action(name: name, arguments: arguments, result: fieldPredicates(keys.take("result"), of: name, fields: results))
    }

    private mutating func check(_ given: [Operand.Entry], of action: Vocabulary.ActionShape, at head: Node) {
        for argument in action.arguments {
            guard let entry = given.first(where: { $0.name == argument.name }) else {
                if argument.initial == nil { report(head, "\(action.name) needs '\(argument.name)': \(argument.about)") }
                continue
            }
            if case .literal(let value) = entry.value, !argument.kind.accepts(value) {
                report(entry.position, "\(action.name) needs \(argument.kind) after '\(argument.name)', not \(value)")
            }
        }
    }

    // MARK: Observing

    private mutating func expectation(_ head: Node, _ keys: inout Keys) -> Expectation? {
        guard let name = text(head, "expect") else { return nil }
        let known = pdu(named: name, at: head, [.event, .att, .smp, .signalling])
        let since = text(keys.take("since"), "since")
        if let since { sinces.append((since, position(head))) }
        return Expectation(
            name: name, fields: fieldPredicates(keys.take("where"), of: name, fields: known?.fields ?? [], isOpen: known == nil),
            window: window(&keys), since: since, isStrict: text(keys.take("strict"), "strict") == "true")
    }

    private mutating func window(_ keys: inout Keys) -> Window? {
        let within = length(keys.take("within"), "within")
        let after = length(keys.take("after"), "after")
        return within == nil && after == nil ? nil : Window(notBefore: after, within: within)
    }

    private mutating func measurement(_ head: Node, _ keys: inout Keys) -> Measurement? {
        guard let metricName = text(head, "measure") else { return nil }
        guard let metric = Measurement.Metric(rawValue: metricName) else {
            let names = Measurement.Metric.allCases.map(\.rawValue)
            report(head, "there is no metric '\(metricName)'" + Suggestion.text(for: metricName, among: names))
            return nil
        }
        guard let of = keys.take("of"), let name = text(of, "of"), let during = length(keys.take("during"), "during"),
            let condition = keys.take("is")
        else {
            report(head, "measure needs `of:`, `during:` and `is:`")
            return nil
        }
        let known = pdu(named: name, at: of, [.event, .att, .smp, .signalling, .linkLayer])
        readsTimes = true
        let result = predicate(condition)
        readsTimes = false
        return Measurement(
            metric: metric, name: name,
            fields: fieldPredicates(keys.take("where"), of: name, fields: known?.fields ?? [], isOpen: known == nil),
            during: during, result: result)
    }

    private mutating func airStep(_ head: Node, _ keys: inout Keys) -> AirStep? {
        let operations: [String: AirStep.Operation] = [
            "expect": .expect, "none": .expectNone, "suppress": .suppress, "alter": .alter, "inject": .inject,
        ]
        guard let word = text(head, "air") else { return nil }
        guard let operation = operations[word] else {
            report(head, "the air has no '\(word)'" + Suggestion.text(for: word, among: operations.keys))
            return nil
        }
        guard let pduNode = keys.take("pdu"), let name = text(pduNode, "pdu") else {
            report(head, "an air step needs `pdu:`")
            return nil
        }
        usesAir = true
        let known = pdu(named: name, at: pduNode, [.linkLayer])
        var fields: [Operand.Entry] = []
        if let with = keys.take("with"), let values = self.keys(with, of: "with") {
            fields = entries(values, of: name, fields: known?.fields ?? [])
        }
        let since = text(keys.take("since"), "since")
        if let since { sinces.append((since, position(head))) }
        return AirStep(
            operation: operation, name: name, fields: fields,
            predicates: fieldPredicates(keys.take("where"), of: name, fields: known?.fields ?? [], isOpen: known == nil),
            window: window(&keys), since: since, times: integer(keys.take("times"), "times"))
    }

    private mutating func pdu(named name: String, at node: Node, _ layers: Set<Vocabulary.PDU.Layer>) -> Vocabulary.PDU? {
        if let known = vocabulary.pdus[name] {
            if layers.contains(known.layer) { return known }
            report(node, "\(name) cannot be used here")
            return nil
        }
        let names = vocabulary.pdus.values.filter { layers.contains($0.layer) }.map(\.name)
        report(node, "there is no PDU '\(name)'" + Suggestion.text(for: name, among: names))
        return nil
    }

    mutating func requirement(_ node: Node?, _ what: String) -> Requirement? {
        guard let node, let text = text(node, what) else { return nil }
        do {
            let requirement = try Requirement(parsing: text)
            for name in requirement.names where !isFeature(name) {
                let all = ["air", "virtual"] + Side.allCases.flatMap { side in vocabulary.features.map { side.rawValue + "." + $0 } }
                report(node, "there is no feature '\(name)'" + Suggestion.text(for: name, among: all))
            }
            return requirement
        } catch {
            var place = position(node)
            place.column += error.offset
            report(place, error.text)
            return nil
        }
    }

    private func isFeature(_ name: String) -> Bool {
        if name == "air" || name == "virtual" { return true }
        let parts = name.split(separator: ".", maxSplits: 1)
        return parts.count == 2 && Side(rawValue: String(parts[0])) != nil && vocabulary.features.contains(String(parts[1]))
    }
}
