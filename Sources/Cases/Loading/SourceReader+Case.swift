import BBPackets
import Yams

extension SourceReader {
    static let caseKeys = [
        "title", "purpose", "reference", "subject", "covers", "tags", "needs", "rule", "constants", "parameters", "rounds", "limits",
        "world",
        "setup",
        "steps", "teardown",
    ]
    static let procedureKeys = ["about", "roles", "parameters", "steps", "gives"]

    /// Reads a case file.
    mutating func testCase(_ root: Node, id: String) -> TestCase? {
        guard var keys = keys(root, of: "a case") else { return nil }
        noteUSB(keys)
        let position = position(root)
        let subject = subject(keys.take("subject"))
        isAccessoryCase = subject == .accessory
        isHostCase = subject == .host
        let title = required(keys.take("title"), "title", at: position)
        let purpose = required(keys.take("purpose"), "purpose", at: position)
        let reference = reference(keys.take("reference"), at: position)
        let own = constants(keys.take("constants"))
        let parameters = parameters(keys.take("parameters"))
        let tags = tags(keys.take("tags"))
        var testCase = TestCase(
            id: id, position: position, title: title, purpose: purpose, reference: reference, subject: subject,
            covers: covers(keys.take("covers")), tags: tags.map(\.name), needs: requirement(keys.take("needs"), "needs"),
            parameters: parameters, rounds: rounds(keys.take("rounds"), parameters), limits: limits(keys.take("limits")),
            world: world(keys.take("world")), setup: steps(keys.take("setup"), "setup"), steps: steps(keys.take("steps"), "steps"),
            teardown: steps(keys.take("teardown"), "teardown"))
        (testCase.mentionsDevice, testCase.mentionsReference) = (mentionsDevice, mentionsReference)
        testCase.rule = ruleName(keys.take("rule"), subject: subject)
        finish(keys, of: "a case", allowed: Self.caseKeys)
        if lost.isEmpty { checkPurpose(of: testCase) }
        for constant in own where !usedConstants.contains(constant.name) && lost.isEmpty {
            warn(constant.position, "the constant '\(constant.name)' is never used")
        }
        for tag in tags {
            if let impediment = testCase.impediment(to: tag.name) {
                report(tag.position, "it cannot have the tag '\(tag.name)': \(impediment)")
            }
        }
        return testCase
    }

    private mutating func checkPurpose(of testCase: TestCase) {
        if testCase.steps.isEmpty {
            report(testCase.position, "the case has no steps")
        } else if !testCase.statesSomething {
            report(testCase.position, "no step has `states:`, so the case checks no requirement")
        }
    }

    /// Reads a procedure file.
    mutating func procedure(_ root: Node, name: String) -> Procedure? {
        guard var keys = keys(root, of: "a procedure") else { return nil }
        let about = required(keys.take("about"), "about", at: position(root))
        let roles = roles(keys.take("roles"))
        self.roles = roles.map(\.name)
        let parameters = parameters(keys.take("parameters"))
        let steps = steps(keys.take("steps"), "steps")
        if steps.isEmpty, lost.isEmpty { report(root, "the procedure has no steps") }
        let gives = keys.take("gives").map { openEntries($0) } ?? []
        finish(keys, of: "a procedure", allowed: Self.procedureKeys)
        return Procedure(
            name: name, position: position(root), about: about, roles: roles, parameters: parameters, steps: steps, gives: gives,
            mentionsDevice: mentionsDevice)
    }

    /// Reads the parameters of a procedure, before the steps of any file are read.
    mutating func signature(_ root: Node) -> [Parameter] {
        guard var keys = keys(root, of: "a procedure") else { return [] }
        return parameters(keys.take("parameters"))
    }

    private mutating func openEntries(_ node: Node) -> [Operand.Entry] {
        guard let keys = keys(node, of: "gives") else { return [] }
        return entries(keys, of: "gives", fields: [])
    }

    /// Reads the roles of a procedure: one, or two with the second for the other side.
    private mutating func roles(_ node: Node?) -> [Procedure.Role] {
        guard let node, let keys = keys(node, of: "roles") else { return [] }
        if keys.entries.isEmpty || keys.entries.count > 2 { report(node, "a procedure has one role or two") }
        let roles = keys.entries.map { entry in
            let side = text(entry.node, "a role").flatMap { Side(rawValue: $0) }
            if side == nil { report(entry.node, "a role is taken by tester or subject") }
            checkName(entry.name, at: entry.position)
            return Procedure.Role(name: entry.name, usual: side ?? .tester)
        }
        if roles.count == 2, roles[0].usual == roles[1].usual { report(node, "two roles are taken by the two sides") }
        return roles
    }

    /// Reads what a case judges: a section, as `Core Vol 6, Part B, 5.1.10`, where public cases are listed beside the suites; any text
    /// elsewhere.
    private mutating func reference(_ node: Node?, at position: Position) -> String {
        let text = required(node, "reference", at: position)
        guard vocabulary.covers != nil else { return text }
        for section in text.split(separator: ";") where !Self.isSection(section) {
            report(node.map { self.position($0) } ?? position, "'\(text)' names no section; write Core Vol 6, Part B, 5.1.10")
            break
        }
        return text
    }

    /// Protocol and profile specifications that are not divided into parts.
    private static let profiles: Set<String> = [
        "RFCOMM 1.2", "TS 07.10", "AVDTP 1.3", "AVCTP 1.4", "AVRCP 1.6", "A2DP 1.3", "HFP 1.8",
        "CGMS 1.0", "CPS 1.1", "CSCS 1.0", "FTMS 1.0", "GLS 1.0", "HRS 1.0", "LNS 1.0", "UDS 1.0",
    ]

    private static func isSection(_ text: Substring) -> Bool {
        var parts = text.split(separator: ",").map { $0.split(separator: " ").joined(separator: " ") }
        guard let numbersText = parts.popLast() else { return false }
        if parts.count == 1 {
            guard profiles.contains(parts[0]) else { return false }
        } else {
            guard parts.count == 2, parts[0].hasPrefix("Core Vol ") || parts[0] == "Core Supplement", parts[1].hasPrefix("Part ") else {
                return false
            }
        }
        let numbers = numbersText.split(separator: ".", omittingEmptySubsequences: false)
        return numbers.count > 0 && numbers.allSatisfy { !$0.isEmpty && $0.allSatisfy { $0.isASCII && $0.isNumber } }
    }

    /// Reads the file's constants, which replace references to them during reading.
    private mutating func constants(_ node: Node?) -> [(name: String, position: Position)] {
        guard let node, let keys = keys(node, of: "constants") else { return [] }
        for entry in keys.entries {
            checkName(entry.name, at: entry.position)
            constants[entry.name] = constant(entry.node)
        }
        return keys.entries.map { ($0.name, $0.position) }
    }

    /// Checks that a constant is a literal: an address, a UUID, octets or a number.
    mutating func constant(_ node: Node) -> Node {
        if case .scalar(let scalar) = node, scalar.string.hasPrefix("$") { report(node, "a constant is a value, not a reference") }
        return node
    }

    mutating func required(_ node: Node?, _ what: String, at position: Position) -> String {
        if let node { return text(node, what) ?? "" }
        report(position, "'\(what)' is missing")
        return ""
    }

    private mutating func subject(_ node: Node?) -> SubjectKind {
        guard let node, let text = text(node, "subject") else { return .controller }
        if let kind = SubjectKind(rawValue: text) { return kind }
        report(
            node,
            "a subject is controller, accessory or host, not '\(text)'"
                + Suggestion.text(for: text, among: SubjectKind.allCases.map(\.rawValue)))
        return .controller
    }

    private mutating func covers(_ node: Node?) -> [Cover] {
        guard let node, let keys = keys(node, of: "covers") else { return [] }
        return keys.entries.compactMap { entry in
            checkPublicID(entry.name, at: entry.position)
            guard let extent = text(entry.node, "the extent"), extent == "full" || extent == "partial" else {
                report(entry.node, "a public case is covered `full` or `partial`")
                return nil
            }
            if extent == "full", let row = vocabulary.covers?[entry.name], let shown = row.shown, shown != .full {
                let place = "\(row.position.file):\(row.position.line)"
                report(entry.node, "\(place) says '\(shown.rawValue)' of \(entry.name): write partial here, or full there")
            }
            return Cover(id: entry.name, isFull: extent == "full", position: entry.position)
        }
    }

    /// Looks for a public id in the tables beside the suites and in the built-in ones. Without tables of its own, a folder may have ids that
    /// are in none.
    private mutating func checkPublicID(_ id: String, at position: Position) {
        let tables = [vocabulary.covers, vocabulary.builtInCovers].compactMap(\.self)
        guard !tables.isEmpty, !tables.contains(where: { $0[id] != nil }) else { return }
        let near = Suggestion.text(for: id, among: tables.flatMap(\.ids))
        guard vocabulary.covers == nil else { return report(position, "no table has the public test case '\(id)'\(near)") }
        warn(
            position,
            "no table has the public test case '\(id)'\(near)"
                + (near.isEmpty ? "; list your own ids in \(PublicTests.folder)/NAME.tsv beside the suites" : ""))
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
        checkName(name, at: position)
        guard case .mapping = node else {
            return Parameter(name: name, initial: literal(operand(node)), range: nil, about: "", position: position)
        }
        guard var keys = keys(node, of: "parameter \(name)") else { return nil }
        let field = field(keys.take("field"))
        parameterFields[name] = field
        guard let initial = keys.take("default") else {
            report(position, "parameter \(name) has no default")
            return nil
        }
        readsTimes = true
        let value = literal(operand(initial, field: field))
        let range = range(keys.take("range"), of: field)
        readsTimes = false
        if let range, case .number(let number) = value, !range.contains(number) {
            report(initial, "\(number) is outside the parameter's range of \(range.lowerBound) to \(range.upperBound)")
        }
        if range != nil, case .number = value {} else if range != nil { report(initial, "a parameter with a range is a number") }
        let about = text(keys.take("about"), "about") ?? ""
        finish(keys, of: "a parameter", allowed: ["default", "range", "field", "about"])
        var parameter = Parameter(name: name, initial: value, range: range, field: field, about: about, position: position)
        if case .scalar(let scalar) = initial { parameter.isTime = range != nil && Self.duration(scalar.string) != nil }
        return parameter
    }

    private mutating func range(_ node: Node?, of field: Vocabulary.Field?) -> ClosedRange<Int>? {
        guard let node else { return nil }
        let limits = sequence(node, "range").compactMap { numberOrTime($0, "range") }
        guard limits.count == 2 else {
            report(node, "a range has two limits: [low, high]")
            return nil
        }
        guard limits[0] <= limits[1] else {
            report(node, "the range is upside down: \(limits[0]) is above \(limits[1])")
            return nil
        }
        return limits[0]...limits[1]
    }

    /// Reads the field whose value a parameter is: `LE_Set_PHY.TX_PHYs`.
    private mutating func field(_ node: Node?) -> Vocabulary.Field? {
        guard let node, let text = text(node, "field") else { return nil }
        let parts = text.split(separator: ".").map(String.init)
        guard let pdu = parts.first, let known = vocabulary.pdus[pdu] else {
            report(
                node, "there is no PDU '\(parts.first ?? text)'" + Suggestion.text(for: parts.first ?? text, among: vocabulary.pdus.keys))
            return nil
        }
        var fields = known.fields
        var found: Vocabulary.Field?
        for part in parts.dropFirst() {
            found = fields.first { $0.name == part }
            guard let found else {
                report(node, "\(pdu) has no field '\(part)'" + Suggestion.text(for: part, among: fields.map(\.name)))
                return nil
            }
            fields = found.columns
        }
        if found == nil { report(node, "a field is named with its PDU: LE_Set_PHY.TX_PHYs") }
        return found
    }

    mutating func literal(_ operand: Operand) -> CaseValue {
        switch operand {
        case .literal(let value): return value
        case .reference(let reference):
            report(reference.position, "a value is expected here, not a reference")
            return .number(0)
        case .list(let list):
            var values: [CaseValue] = []
            for element in list { values.append(literal(element)) }
            return .list(values)
        case .record, .filled, .part, .address, .joined: return (try? Variables().resolve(operand)) ?? .number(0)
        }
    }

    private mutating func limits(_ node: Node?) -> Limits {
        var limits = Limits()
        guard let node, var keys = keys(node, of: "limits") else { return limits }
        if let step = duration(keys.take("step"), "step", atMost: Limits.longest) { limits.step = step }
        if let run = duration(keys.take("case"), "case", atMost: Limits.longest) { limits.run = run }
        finish(keys, of: "limits", allowed: ["step", "case"])
        return limits
    }

    private mutating func world(_ node: Node?) -> World {
        var world = World()
        guard let node, var keys = keys(node, of: "world") else { return world }
        world.packetErrorRate = packetErrorRate(keys.take("packetErrorRate")) ?? 0
        world.tester = controllerQuirks(keys.take("tester"))
        world.subject = controllerQuirks(keys.take("subject"))
        world.accessory = quirks(keys.take("accessory"), of: "accessories", vocabulary.worlds.accessories)
        finish(keys, of: "world", allowed: ["packetErrorRate", "tester", "subject", "accessory"])
        return world
    }

    mutating func packetErrorRate(_ node: Node?) -> Double? {
        guard let node else { return nil }
        if let text = text(node, "packetErrorRate"), let value = Double(text), (0...1).contains(value) { return value }
        report(node, "a packet error rate is a number from 0 to 1")
        return nil
    }
}

extension Parameter {
    /// The field description for values of the parameter.
    var asField: Vocabulary.Field {
        if var field {
            field.name = name
            return field
        }
        if range != nil { return Vocabulary.Field(name, .number(.min ... .max)) }
        return Vocabulary.Field(name)
    }
}

extension TestCase {
    /// True if a step states a requirement.
    var statesSomething: Bool { steps.contains { $0.anywhere { $0.states != nil } } }
}

extension Step {
    /// True if the step or a step inside it satisfies the test.
    func anywhere(_ test: (Step) -> Bool) -> Bool {
        test(self) || inner.contains { $0.anywhere(test) }
    }

    /// The steps inside the step.
    package var inner: [Step] {
        switch kind {
        case .repeated(_, _, let steps), .each(_, _, let steps), .until(_, _, let steps): steps
        case .attempts(_, let steps, let between): steps + between
        case .parallel(let branches), .either(let branches): branches.flatMap { $0 }
        case .send, .action, .expect, .expectNone, .measure, .air, .check, .wait, .mark, .procedure: []
        }
    }
}
