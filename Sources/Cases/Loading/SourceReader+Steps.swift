import BBPackets
import Yams

extension SourceReader {
    /// The possible first keys of a step, which determine its kind.
    static let stepKinds = [
        "send", "do", "expect", "none", "measure", "air", "check", "wait", "mark", "repeat", "each", "attempts", "parallel", "either",
        "until",
        "use",
    ]
    static let common = ["as", "name", "states", "saveAs", "when", "limit", "otherwise"]

    mutating func steps(_ node: Node?, _ what: String, depth: Int = 0) -> [Step] {
        guard depth < 16 else {
            if let node { report(node, "steps are nested too deeply") }
            return []
        }
        return sequence(node, what, mayBeEmpty: depth == 0).compactMap { step($0, depth: depth) }
    }

    private mutating func step(_ node: Node, depth: Int) -> Step? {
        let step = readable(node, depth: depth)
        if step == nil { lose(node) }
        return step
    }

    /// Reads a step; returns nil if its kind cannot be read.
    private mutating func readable(_ node: Node, depth: Int) -> Step? {
        guard var keys = keys(node, of: "a step") else { return nil }
        guard let kindName = Self.stepKinds.first(where: { keys.has($0) }), let head = keys.take(kindName) else {
            let near = keys.entries.lazy.map { Suggestion.text(for: $0.name, among: Self.stepKinds) }.first { !$0.isEmpty } ?? ""
            report(node, "a step begins with one of \(Self.stepKinds.joined(separator: ", "))" + near)
            return nil
        }
        let position = position(node)
        let label = kindName == "mark" ? text(head, "mark") : text(keys.take("name"), "name")
        let states = text(keys.take("states"), "states")
        let saveAs = text(keys.take("saveAs"), "saveAs")
        let condition = requirement(keys.take("when"), "when")
        let limit = duration(keys.take("limit"), "limit", atMost: Limits.longest)
        let otherwise = otherwise(keys.take("otherwise"))
        let isUpper = isUpperTesters(head)
        let needsSide = !isUpper && ["send", "do", "expect", "none", "measure", "air", "until"].contains(kindName)
        let isDirected = keys.has("as")
        let (side, role) = side(keys.take("as"), isNeeded: needsSide, at: position)
        if isUpper, isDirected { report(head, "the upper tester belongs to the subject: leave `as:` out") }
        guard var kind = kind(kindName, head, &keys, depth: depth) else { return nil }
        if case .procedure(var use) = kind {
            use.isDirected = isDirected
            kind = .procedure(use)
        }
        finish(keys, of: "a step '\(kindName)'", allowed: Self.allowed[kindName, default: []] + Self.common)
        if let saveAs {
            checkName(saveAs, at: position)
            savedFields.add(saveAs, vocabulary.saved(by: kind) ?? [])
        }
        return Step(
            position: position, side: isUpper ? .subject : side, role: isUpper ? nil : role, kind: kind, label: label, states: states,
            saveAs: saveAs, condition: condition,
            limit: limit, otherwise: otherwise)
    }

    /// True if the step is about a message of the upper tester.
    private func isUpperTesters(_ head: Node) -> Bool {
        guard case .scalar(let scalar) = head, let layer = vocabulary.pdus[scalar.string]?.layer else { return false }
        return Set<Layer>.upperTester.contains(layer)
    }

    /// Reads the verdict of a case that ends at the step because the expected behaviour is optional.
    private mutating func otherwise(_ node: Node?) -> Step.Otherwise? {
        guard let node, let text = text(node, "otherwise") else { return nil }
        if let otherwise = Step.Otherwise(rawValue: text) { return otherwise }
        let all = Step.Otherwise.allCases.map(\.rawValue)
        report(node, "otherwise is one of \(all.joined(separator: ", "))" + Suggestion.text(for: text, among: all))
        return nil
    }

    /// Checks that a name for results is not reserved.
    mutating func checkName(_ name: String, at position: Position) {
        if name.isEmpty || name.contains(where: { $0 == "." || $0 == "$" || $0.isWhitespace }) {
            report(position, "invalid name '\(name)': use letters, digits and underscores")
        }
        if CaseCheck.ambient.contains(name) || roles.contains(name) || constants[name] != nil {
            report(position, "the name '\(name)' stands for something already")
        }
    }

    static let allowed: [String: [String]] = [
        "send": ["with", "raw", "trailing", "on", "answer"],
        "do": ["with", "result"],
        "expect": ["where", "within", "after", "since", "strict"],
        "none": ["where", "within", "since"],
        "measure": ["of", "where", "during", "is"],
        "air": ["pdu", "with", "where", "within", "after", "since", "times", "inClear"],
        "check": ["is"], "wait": [], "mark": [], "repeat": ["counter", "steps"],
        "each": ["called", "steps"], "attempts": ["steps", "between"], "parallel": [],
        "either": [],
        "until": ["where", "within", "atMost", "steps"], "use": ["with"],
    ]

    /// Reads the acting side, or in a procedure its role.
    private mutating func side(_ node: Node?, isNeeded: Bool, at position: Position) -> (Side, role: String?) {
        guard let node, let text = text(node, "as") else {
            if isNeeded, !isAccessoryCase, !isHostCase { report(position, "the step does not say who: `as: tester` or `as: subject`") }
            return (.tester, nil)
        }
        if text.hasPrefix("$") {
            let role = String(text.dropFirst())
            if !roles.contains(role) { report(node, "there is no role '\(role)'" + Suggestion.text(for: role, among: roles)) }
            return (.tester, role)
        }
        guard let side = Side(rawValue: text) else {
            report(node, "'\(text)' is neither tester nor subject")
            return (.tester, nil)
        }
        if side == .subject, isAccessoryCase { report(node, "an accessory has no HCI of its own here: only the tester acts and observes") }
        return (side, nil)
    }

    private mutating func kind(_ name: String, _ head: Node, _ keys: inout Keys, depth: Int) -> Step.Kind? {
        switch name {
        case "send": return command(head, &keys).map { .send($0) }
        case "do": return action(head, &keys).map { .action($0) }
        case "expect": return expectation(head, &keys).map { .expect($0) }
        case "none": return prohibition(head, &keys)
        case "measure": return measurement(head, &keys).map { .measure($0) }
        case "air": return airStep(head, &keys).map { .air($0) }
        case "check":
            let value = operand(head)
            let field: Vocabulary.Field? = if case .reference(let reference) = value { savedFields.field(of: reference) } else { nil }
            guard let condition = keys.take("is") else {
                report(head, "check needs `is:`")
                return nil
            }
            return .check(value, predicate(condition, field: field))
        case "wait": return length(head, "wait").map { .wait($0) }
        case "mark": return .mark
        case "repeat": return repetition(head, &keys, depth: depth)
        case "each": return each(head, &keys, depth: depth)
        case "attempts": return attempts(head, &keys, depth: depth)
        case "parallel": return .parallel(sequence(head, "parallel").map { steps($0, "a branch", depth: depth + 1) })
        case "either": return either(head, depth: depth)
        case "until":
            guard let awaited = expectation(head, &keys) else { return nil }
            let atMost = integer(keys.take("atMost"), "atMost", in: 1...10_000) ?? 100
            return .until(awaited, atMost: atMost, body(&keys, head, depth: depth))
        case "use": return use(head, &keys)
        default: return nil
        }
    }

    private mutating func repetition(_ head: Node, _ keys: inout Keys, depth: Int) -> Step.Kind {
        let counter = text(keys.take("counter"), "counter")
        if let counter { checkName(counter, at: position(head)) }
        let times = operand(head)
        switch times {
        case .literal(.number(1...10_000)), .reference: break
        default: report(head, "repeat needs a number from 1 to 10000")
        }
        return .repeated(times: times, counter: counter, body(&keys, head, depth: depth))
    }

    private mutating func each(_ head: Node, _ keys: inout Keys, depth: Int) -> Step.Kind? {
        let list = operand(head)
        guard case .reference = list else {
            report(head, "each goes through a saved list: `each: $device.readable`")
            return nil
        }
        guard let name = text(keys.take("called"), "called") else {
            report(head, "`called:` is missing: the name of the element")
            return nil
        }
        checkName(name, at: position(head))
        return .each(list, called: name, body(&keys, head, depth: depth))
    }

    private mutating func attempts(_ head: Node, _ keys: inout Keys, depth: Int) -> Step.Kind {
        let most = integer(head, "attempts", in: 2...100) ?? 2
        let repeated = body(&keys, head, depth: depth)
        return .attempts(most, repeated, between: keys.take("between").map { steps($0, "between", depth: depth + 1) } ?? [])
    }

    private mutating func body(_ keys: inout Keys, _ head: Node, depth: Int) -> [Step] {
        guard let node = keys.take("steps") else {
            report(head, "there is nothing to repeat: `steps:` is missing")
            return []
        }
        return steps(node, "steps", depth: depth + 1)
    }

    private mutating func either(_ node: Node, depth: Int) -> Step.Kind? {
        let sources = sequence(node, "either")
        let branches = sources.map { steps($0, "a branch", depth: depth + 1) }
        var begun: [Step] = []
        for (branch, source) in zip(branches, sources) {
            guard let first = branch.first, case .expect(let expectation) = first.kind else {
                report(source, "each branch of either begins with an expect")
                return nil
            }
            if begun.contains(where: { $0.side == first.side && $0.expects(expectation) }) {
                report(source, "a branch before this one begins with the same expect, so that this one never runs")
            }
            begun.append(first)
        }
        if branches.count == 1 { report(node, "either needs two branches or more") }
        return branches.count < 2 ? nil : .either(branches)
    }

    private mutating func use(_ head: Node, _ keys: inout Keys) -> Step.Kind? {
        guard let name = text(head, "use") else { return nil }
        let parameters = signatures?[name]
        if let signatures, parameters == nil {
            let names = procedureNames.union(signatures.keys)
            report(head, "there is no procedure '\(name)'" + Suggestion.text(for: name, among: names))
        }
        var arguments: [Operand.Entry] = []
        if let with = keys.take("with"), let values = self.keys(with, of: "with") {
            let fields = parameters?.map { $0.asField } ?? []
            if fields.isEmpty, parameters != nil, let first = values.entries.first {
                report(first.position, "procedure \(name) has no parameters")
            }
            readsTimes = true
            arguments = entries(values, of: "procedure \(name)", fields: fields)
            readsTimes = false
        }
        for (argument, parameter) in arguments.compactMap({ argument in
            parameters?.first { $0.name == argument.name }.map { (argument, $0) }
        }) {
            if case .literal(.number(let number)) = argument.value, let range = parameter.range, !range.contains(number) {
                let text = "\(number) is outside the range of \(name)'s '\(parameter.name)', \(range.lowerBound) to \(range.upperBound)"
                report(argument.position, text)
            }
        }
        return .procedure(Use(name: name, arguments: arguments, isDirected: false))
    }

    // MARK: Acting

    private mutating func command(_ head: Node, _ keys: inout Keys) -> Command? {
        guard let name = text(head, "send") else { return nil }
        let known = pdu(named: name, at: head, .sent)
        let fields = known?.fields ?? []
        var entries: [Operand.Entry] = []
        if let with = keys.take("with"), let values = self.keys(with, of: "with") {
            if fields.isEmpty, known != nil, let first = values.entries.first { report(first.position, "\(name) has no fields") }
            entries = self.entries(values, of: name, fields: fields)
        }
        let octets = Vocabulary.Field("raw", .octets(atMost: 65_535))
        let raw = keys.take("raw").map { operand($0, field: octets) }
        if raw != nil, !entries.isEmpty { report(head, "a step has `with` or `raw`, not both") }
        if raw == nil { entries += defaults(of: known, name, without: entries, at: position(head)) }
        let connection = keys.take("on").map { operand($0, field: .init("on", .number(0...0x0EFF))) }
        let isAnswered = known.map { Set<Layer>.answered.contains($0.layer) } ?? false
        if isAnswered, connection != nil { report(head, "\(name) is not sent on a connection: leave `on:` out") }
        if known != nil, !isAnswered, connection == nil { report(head, "\(name) needs a connection: `on: $link.tester`") }
        return Command(
            name: name, fields: entries, raw: raw, trailing: keys.take("trailing").map { operand($0, field: octets) },
            connection: connection, answer: answer(keys.take("answer"), of: known, name))
    }

    /// Returns the values of omitted fields that are not 0, and reports omitted fields that are required.
    mutating func defaults(of pdu: Vocabulary.PDU?, _ name: String, without given: [Operand.Entry], at position: Position)
        -> [Operand.Entry]
    {
        let fields = pdu?.fields ?? []
        for field in fields where field.isRequired && !given.contains(where: { $0.name == field.name }) {
            report(position, "\(name) needs '\(field.name)'")
        }
        return defaults(of: fields, without: given, at: position)
    }

    private mutating func answer(_ node: Node?, of pdu: Vocabulary.PDU?, _ name: String) -> Command.Answer {
        guard let node else { return .success }
        if case .scalar(let scalar) = node {
            if scalar.string == "ignored" { return .ignored }
            report(node, "answer is `ignored` or the fields that must come back")
            return .success
        }
        let returns =
            pdu?.returns ?? [Vocabulary.Field("Status", labels: vocabulary.pdus[HCIEvents.CommandStatus.name]?.fields.first?.labels ?? [:])]
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
            arguments = entries(
                values, of: name,
                fields: shape.arguments.map { argument in
                    switch argument.kind {
                    case .octets, .named: argument.asField
                    case .number, .uuid, .address: Vocabulary.Field(argument.name)
                    }
                })
        }
        check(arguments, of: shape, at: head)
        return Action(
            name: name, arguments: arguments, result: fieldPredicates(keys.take("result"), of: name, fields: shape.resultFields))
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
}
