import BBPackets
import Yams

/// A static check of a case or procedure: values saved before they are used, unused names, missing sides, and the longest duration.
package struct CaseCheck {
    /// The variables that always exist: the addresses of both ends, and the known facts about a device over the air.
    static let ambient = ["tester", "subject", Vocabulary.DeviceShape.name]
    /// The limit of the number of steps; more are regarded as an unintended loop.
    package static let mostSteps = 100_000

    let vocabulary: Vocabulary
    let procedures: ProcedureTable
    package var problems: [Problem] = []
    var isAccessory = false
    /// The longest duration of the case.
    var longest: Microseconds?

    /// The names saved and marked on every path to a step.
    struct State {
        var given: [String: ValueShape] = [:]
        var marks: Set<String> = ["start"]
    }

    private var saved: [(name: String, position: Position)] = []
    private var marked: [(name: String, position: Position)] = []
    private var used: Set<String> = []
    private var usedMarks: Set<String> = []
    /// Names saved or marked by steps that could not be read.
    private let lost: LostNames

    init(vocabulary: Vocabulary, procedures: ProcedureTable, lost: LostNames) {
        self.vocabulary = vocabulary
        self.lost = lost
        self.procedures = procedures
    }

    /// Returns the mistakes in a case.
    ///
    /// - Parameter lost: the steps that could not be read, whose consequences are not reported.
    package static func problems(
        of testCase: TestCase, _ procedures: ProcedureTable, _ vocabulary: Vocabulary, lost: [Node] = []
    ) -> [Problem] {
        var check = CaseCheck(vocabulary: vocabulary, procedures: procedures, lost: LostNames(lost))
        check.isAccessory = testCase.subject == .accessory
        check.longest = testCase.limits.run
        var state = State(given: check.given(testCase.parameters))
        if let rule = testCase.rule {
            let names = vocabulary.rules[rule] ?? []
            state.given[AccessoryProfile.ruleVariable] = .record(
                Dictionary(uniqueKeysWithValues: names.map { ($0, .any) }))
        }
        let all = testCase.setup + testCase.steps + testCase.teardown
        check.collect(all)
        check.walk(all, &state)
        for part in [testCase.setup, testCase.steps, testCase.teardown] { check.checkMarks(part) }
        check.reportUnused(testCase.parameters)
        if lost.isEmpty { check.checkAir(of: testCase, all) }
        if procedures.cost(of: all, check.given(testCase.parameters)) > mostSteps {
            check.problems.append(Problem(testCase.position, "the case could run more than \(mostSteps) steps"))
        }
        return check.problems
    }

    /// Returns the mistakes in a procedure.
    package static func problems(
        of procedure: Procedure, _ procedures: ProcedureTable, _ vocabulary: Vocabulary, lost: [Node] = []
    ) -> [Problem] {
        var check = CaseCheck(vocabulary: vocabulary, procedures: procedures, lost: LostNames(lost))
        var state = State(given: check.given(procedure.parameters))
        for role in procedure.roles { state.given[role.name] = .side }
        check.collect(procedure.steps)
        check.walk(procedure.steps, &state)
        check.checkMarks(procedure.steps)
        for entry in procedure.gives {
            check.visit(entry.value, as: nil, state)
            guard entry.name.hasPrefix("$") else { continue }
            let role = String(entry.name.dropFirst())
            if !procedure.roles.contains(where: { $0.name == role }) {
                let hint = Suggestion.text(for: role, among: procedure.roles.map(\.name))
                check.problems.append(Problem(entry.position, "there is no role '\(role)'" + hint))
            }
        }
        check.reportUnused(procedure.parameters)
        return check.problems
    }

    private func given(_ parameters: [Parameter]) -> [String: ValueShape] {
        var given = Dictionary(
            uniqueKeysWithValues: Self.ambient.map { ($0, $0 == Vocabulary.DeviceShape.name ? vocabulary.device.variable : .side) })
        for parameter in parameters { given[parameter.name] = ValueShape(parameter) }
        return given
    }

    package mutating func report(_ position: Position, _ text: String) { problems.append(Problem(position, text)) }

    private mutating func warn(_ position: Position, _ text: String) { problems.append(Problem(position, text, isWarning: true)) }

    // MARK: Names

    /// Collects all saved and named values in the file.
    private mutating func collect(_ steps: [Step]) {
        for step in steps {
            if let name = step.saveAs { saved.append((name, step.position)) }
            if let name = step.label { marked.append((name, step.position)) }
            if case .repeated(_, let counter?, _) = step.kind { saved.append((counter, step.position)) }
            if case .each(_, let name, _) = step.kind { saved.append((name, step.position)) }
            collect(step.inner)
        }
    }

    private mutating func reportUnused(_ parameters: [Parameter]) {
        guard lost.isEmpty else { return }
        for parameter in parameters where !used.contains(parameter.name) {
            warn(parameter.position, "the parameter '\(parameter.name)' is never used")
        }
        for (name, position) in saved where !used.contains(name) { warn(position, "'\(name)' is saved and never used") }
        for (name, position) in marked where !usedMarks.contains(name) { warn(position, "the name '\(name)' is never used") }
    }

    /// Checks that a reference names a value that was saved before and is suitable for the field; returns the shape of the value.
    @discardableResult private mutating func visit(_ reference: Reference, as field: Vocabulary.Field?, _ state: State) -> ValueShape {
        used.insert(reference.name)
        guard var shape = state.given[reference.name] else {
            if lost.names.contains(reference.name) { return .any }
            let known = state.given.keys + saved.map(\.name)
            report(
                reference.position,
                saved.contains { $0.name == reference.name }
                    ? "'\(reference.name)' is not saved yet here, or not on every way to it"
                    : "nothing is saved as '\(reference.name)'" + Suggestion.text(for: reference.name, among: known))
            return .any
        }
        for part in reference.path {
            switch shape.part(part, of: reference) {
            case .success(let inner): shape = inner
            case .failure(let problem):
                problems.append(problem)
                return .any
            }
        }
        if let field, !shape.suits(field.kind) {
            report(reference.position, "\(reference) is \(shape.words), which \(field.name) cannot be")
        }
        return shape
    }

    mutating func visit(_ operand: Operand, as field: Vocabulary.Field?, _ state: State) {
        switch operand {
        case .literal: break
        case .reference(let reference): visit(reference, as: field, state)
        case .list(let list):
            var element = field?.element.first
            if let field, field.kind == .rows {
                element = field
                element?.kind = .record
            }
            if case .octets? = field?.kind { element = .init("an octet", .number(0...255)) }
            for inner in list { visit(inner, as: element, state) }
        case .record(let entries):
            for entry in entries { visit(entry.value, as: field?.columns.first { $0.name == entry.name }, state) }
        case .filled(_, let times): visit(times, as: .init("times", .number(0...65_535)), state)
        case .part(let whole, _, _): visit(whole, as: .init("a part", .octets(atMost: nil)), state)
        case .address(let address): visit(address, as: .init("address", .address), state)
        case .joined(let parts): for part in parts { visit(part, as: .init("a part", .octets(atMost: nil)), state) }
        }
    }

    mutating func visit(_ entries: [Operand.Entry], _ fields: [Vocabulary.Field], _ state: State) {
        for entry in entries { visit(entry.value, as: fields.first { $0.name == entry.name }, state) }
    }

    mutating func visit(_ predicates: [FieldPredicate], _ state: State) { for inner in predicates { visit(inner.predicate, state) } }

    mutating func visit(_ predicate: Predicate, _ state: State) {
        switch predicate {
        case .any: break
        case .equals(let operand), .starts(let operand), .ends(let operand), .contains(let operand): visit(operand, as: nil, state)
        case .bits(let operand): visit(operand, as: .init("a mask", .number(.min ... .max)), state)
        case .not(let inner), .masked(_, let inner), .integer(_, _, _, let inner), .length(let inner), .anyElement(let inner),
            .everyElement(let inner):
            visit(inner, state)
        case .anyOf(let all), .allOf(let all): for inner in all { visit(inner, state) }
        case .range(let low, let high):
            let number = Vocabulary.Field("a limit", .number(.min ... .max))
            for limit in [low, high] { if let limit { visit(limit, as: number, state) } }
        case .parts(let parts): visit(parts, state)
        }
    }

    // MARK: Steps

    mutating func walk(_ steps: [Step], _ state: inout State) {
        for step in steps {
            if let label = step.label { state.marks.insert(label) }
            guard step.condition != nil else {
                visit(step, &state)
                continue
            }
            // A step that may be skipped does not guarantee its results.
            var skipped = state
            visit(step, &skipped)
        }
    }

    private mutating func visit(_ step: Step, _ state: inout State) {
        let result: ValueShape?
        switch step.kind {
        case .send(let command): result = visit(command, step, state)
        case .action(let action): result = visit(action, state)
        case .expect(let expectation): result = visit(expectation, step, state)
        case .expectNone(let expectation):
            _ = visit(expectation, step, state)
            result = nil
        case .measure(let measurement):
            visit(measurement.fields, state)
            checkReferences(measurement.fields, vocabulary.pdus[measurement.name]?.fields ?? [], state)
            visit(measurement.result, state)
            visit(measurement.during, step, state)
            result = .number(.min ... .max)
        case .air(let air): result = visit(air, step, state)
        case .check(.reference(let reference), let predicate):
            let shape = visit(reference, as: nil, state)
            checkWords(predicate, about: shape, "\(reference)", at: reference.position)
            checkConditions(predicate, about: shape, "\(reference)", at: reference.position)
            checkReferences(predicate, shape, "\(reference)", state)
            visit(predicate, state)
            result = .any
        case .check(let operand, let predicate):
            visit(operand, as: nil, state)
            visit(predicate, state)
            result = .any
        case .wait(let length):
            visit(length, step, state)
            result = nil
        case .mark: result = nil
        case .repeated, .each, .attempts, .parallel, .either: result = visitInner(step, &state)
        case .until(let awaited, _, let steps):
            walk(steps, &state)
            result = visit(awaited, step, state)
            if awaited.window?.within == nil, !steps.contains(where: \.takesTime) {
                report(step.position, "the steps take no time and until has no `within:`, so nothing can come between them")
            }
        case .procedure(let use): result = visit(use, step, state)
        }
        guard let name = step.saveAs else { return }
        if let result { state.given[name] = result } else { report(step.position, "this step has no result that could be saved") }
    }

    private mutating func visitInner(_ step: Step, _ state: inout State) -> ValueShape? {
        switch step.kind {
        case .repeated(let times, let counter, let steps):
            visit(times, as: .init("repeat", .number(0...10_000)), state)
            var inner = state
            if let counter { inner.given[counter] = .number(0...10_000) }
            walk(steps, &inner)
            let (least, _) = procedures.count(times, state.given)
            if least > 0 { state = inner }
        case .each(let list, let name, let steps):
            visit(list, as: .init("each", .list), state)
            var inner = state
            inner.given[name] = ValueShape.element(of: list, state.given)
            walk(steps, &inner)
        case .attempts(_, let steps, let between):
            var failed = state
            walk(steps, &state)
            failed.given.merge(state.given) { first, _ in first }
            failed.marks.formUnion(state.marks)
            walk(between, &failed)
        case .parallel(let branches):
            var after = state
            for branch in branches {
                var inner = state
                walk(branch, &inner)
                after.given.merge(inner.given) { first, _ in first }
                after.marks.formUnion(inner.marks)
            }
            state = after
        case .either(let branches):
            let ways = branches.map { branch in
                var inner = state
                walk(branch, &inner)
                return inner
            }
            guard var after = ways.first else { break }
            for way in ways.dropFirst() {
                after.given = Dictionary(
                    uniqueKeysWithValues: after.given.compactMap { name, shape in way.given[name].map { (name, shape.joined(with: $0)) } })
                after.marks.formIntersection(way.marks)
            }
            state = after
        default: break
        }
        return nil
    }

    private mutating func visit(_ command: Command, _ step: Step, _ state: State) -> ValueShape? {
        let pdu = vocabulary.pdus[command.name]
        visit(command.fields, pdu?.fields ?? [], state)
        let octets = Vocabulary.Field("raw", .octets(atMost: nil))
        for operand in [command.raw, command.trailing] { if let operand { visit(operand, as: octets, state) } }
        if let connection = command.connection { visit(connection, as: .init("on", .number(0...0x0EFF)), state) }
        if case .fields(let fields) = command.answer { visit(fields, state) }
        // An unknown name was reported when it was read.
        guard let layer = pdu?.layer else { return .any }
        guard Set<Layer>.answered.contains(layer) else {
            if command.answer != .success {
                report(step.position, "\(command.name) has no answer of its own; expect the PDU that comes back")
            }
            return nil
        }
        return command.answer == .ignored ? nil : vocabulary.saved(by: step.kind).map { .fields($0) } ?? .any
    }

    private mutating func visit(_ action: Action, _ state: State) -> ValueShape? {
        let shape = vocabulary.actions[action.name]
        visit(action.arguments, shape?.arguments.map(\.asField) ?? [], state)
        visit(action.result, state)
        return shape.map { .fields($0.resultFields) }
    }

    private mutating func visit(_ expectation: Expectation, _ step: Step, _ state: State) -> ValueShape {
        visit(expectation.fields, state)
        visit(expectation.window, expectation.since, step, state)
        if let pdu = vocabulary.pdus[expectation.name] { checkReferences(expectation.fields, pdu.fields, state) }
        return vocabulary.saved(by: .expect(expectation)).map { .fields($0) } ?? .any
    }

    private mutating func visit(_ air: AirStep, _ step: Step, _ state: State) -> ValueShape? {
        let known = vocabulary.pdus[air.name]?.fields
        let fields = known ?? []
        visit(air.fields, fields, state)
        visit(air.predicates, state)
        checkReferences(air.predicates, fields, state)
        visit(air.window, air.since, step, state)
        return air.operation == .expect ? known.map { .fields($0) } ?? .any : nil
    }

    private mutating func visit(_ window: Window?, _ since: String?, _ step: Step, _ state: State) {
        for length in [window?.within, window?.notBefore] { if let length { visit(length, step, state) } }
        guard let since else { return }
        usedMarks.insert(since)
        guard !state.marks.contains(since), !lost.names.contains(since) else { return }
        if marked.contains(where: { $0.name == since }) {
            return report(step.position, "the step '\(since)' has not run yet here, or not on every way to it")
        }
        report(step.position, "no step has the name '\(since)'" + Suggestion.text(for: since, among: marked.map(\.name)))
    }

    private mutating func visit(_ length: Window.Length, _ step: Step, _ state: State) {
        var most = Microseconds.zero
        switch length {
        case .time(let time): most = time
        case .connectionEvents, .advertisingEvents: return
        case .saved(let reference, let unit):
            visit(reference, as: .init("a span", .number(0...Int(Limits.longest.rawValue))), state)
            guard state.given[reference.name] != nil else { return }
            let (_, bound) = procedures.bounds(of: reference, state.given)
            guard let bound else { return report(step.position, "\(reference) needs a range: a span has a greatest length") }
            guard unit == .microseconds else { return }
            most = Microseconds(Int64(bound))
        }
        guard let longest, most > longest else { return }
        report(step.position, "\(most.text) is longer than the case may last, \(longest.text); see `limits:`")
    }

    private mutating func visit(_ use: Use, _ step: Step, _ state: State) -> ValueShape {
        guard let procedure = procedures[use.name] else { return .any }
        visit(use.arguments, procedure.parameters.map(\.asField), state)
        if use.isDirected, procedure.roles.isEmpty { report(step.position, "procedure \(use.name) has no role that `as:` could give") }
        let cast = procedure.cast(use.isDirected ? step.side : nil)
        if isAccessory, procedures.acts(as: .subject, in: procedure, cast) {
            report(step.position, "procedure \(use.name) acts as the subject, but an accessory has no HCI of its own here")
        }
        return procedures.gives(of: procedure, step.role == nil ? cast : [:])
    }
}

extension Step {
    /// True if the step can take time.
    fileprivate var takesTime: Bool {
        switch kind {
        case .expect, .expectNone, .measure, .wait, .either, .procedure, .action: true
        case .send(let command): command.connection == nil
        case .air(let air): air.operation == .expect || air.operation == .expectNone
        case .until(let awaited, _, let steps): awaited.window != nil || steps.contains(where: \.takesTime)
        case .repeated(_, _, let steps), .each(_, _, let steps), .attempts(_, let steps, _): steps.contains(where: \.takesTime)
        case .parallel(let branches): branches.contains { $0.contains(where: \.takesTime) }
        case .check, .mark: false
        }
    }
}
