import BBCases
import BBPackets

/// The fields that cases check, by packet.
struct FieldReading {
    /// Fields that the runner checks in every case.
    private static let always: [String: Set<String>] = [
        HCIEvents.CommandComplete.name: ["Num_HCI_Command_Packets", "Command_Opcode"],
        HCIEvents.CommandStatus.name: ["Status", "Num_HCI_Command_Packets", "Command_Opcode"],
        HCIEvents.NumberOfCompletedPackets.name: ["Handles.Connection_Handle", "Handles.Num_Completed_Packets"],
    ]

    /// A use of a procedure; each acting side counts once.
    private struct Visit: Hashable {
        var name: String
        var actor: Side?
    }

    /// The packet that a saved value is from.
    private struct Source {
        var packet: String
        /// The path of the value inside the packet.
        var path: [String] = []
        /// The list that `match` is an element of.
        var searched: String?
    }

    private var read = FieldReading.always
    private var visited: Set<Visit> = []
    private var sources: [String: [Source]] = [:]

    /// The packets of which a field is checked.
    var packets: Set<String> { Set(read.keys) }

    func isRead(_ packet: String, _ path: String) -> Bool {
        guard let fields = read[packet] else { return false }
        let steps = path.split(separator: ".")
        return (1...steps.count).contains { fields.contains(steps.prefix($0).joined(separator: ".")) }
    }

    mutating func read(_ testCase: TestCase, _ catalogue: Catalogue) {
        scope(testCase.setup + testCase.steps + testCase.teardown, [], catalogue)
    }

    /// Reads steps that share saved values.
    private mutating func scope(_ steps: [Step], _ results: [Operand], _ catalogue: Catalogue) {
        sources = [:]
        let all = steps.flatMap(\.withInner)
        for step in all { collect(step) }
        for step in all { check(step) }
        for operand in results { use(operand) }
        for case .procedure(let call) in all.map(\.kind) {
            for argument in call.arguments { use(argument.value) }
        }
        for step in all {
            guard case .procedure(let call) = step.kind, let procedure = catalogue.procedures[call.name] else { continue }
            let visit = Visit(name: call.name, actor: call.isDirected ? step.side : nil)
            guard visited.insert(visit).inserted else { continue }
            let cast = procedure.cast(visit.actor)
            scope(procedure.steps.map { $0.with(cast) }, procedure.gives.map(\.value), catalogue)
        }
    }

    // MARK: Sources

    private mutating func collect(_ step: Step) {
        if case .each(let list, let name, _) = step.kind { sources[name, default: []] += resolved(list) }
        guard let name = step.saveAs, step.side == .subject else { return }
        switch step.kind {
        case .send(let command): sources[name, default: []].append(Source(packet: DeclaredPacket.answer(command.name)))
        case .expect(let expected), .until(let expected, _, _):
            let searched = expected.listSearched?.name
            sources[name, default: []] += Self.packets(expected.name).map { Source(packet: $0, searched: searched) }
        case .air(let air): sources[name, default: []].append(Source(packet: air.name))
        case .check(let operand, _): sources[name, default: []] += resolved(operand)
        default: break
        }
    }

    private static func packets(_ name: String) -> [String] { AlternativeEvents.all[name] ?? [name] }

    private func resolved(_ operand: Operand) -> [Source] {
        switch operand {
        case .reference(let reference):
            return (sources[reference.name] ?? []).map { source in
                var source = source
                for step in reference.path where Int(step) == nil {
                    source.path += step == Expectation.match ? source.searched.map { [$0] } ?? [] : [step]
                }
                return source
            }
        case .part(let whole, _, _), .address(let whole): return resolved(whole)
        case .joined(let parts): return parts.flatMap { resolved($0) }
        case .literal, .list, .record, .filled: return []
        }
    }

    // MARK: Checks

    private mutating func check(_ step: Step) {
        let isSubject = step.side == .subject
        switch step.kind {
        case .send(let command):
            for entry in command.fields { use(entry.value) }
            for operand in [command.raw, command.trailing, command.connection].compactMap({ $0 }) { use(operand) }
            guard isSubject else { return }
            switch command.answer {
            case .success: mark(DeclaredPacket.answer(command.name), ["Status"])
            case .fields(let fields): check(fields, [Source(packet: DeclaredPacket.answer(command.name))])
            case .ignored: break
            }
        case .expect(let expected), .until(let expected, _, _):
            check(expected.fields, isSubject ? Self.packets(expected.name).map { Source(packet: $0) } : [])
        case .measure(let measurement):
            check(measurement.fields, isSubject ? Self.packets(measurement.name).map { Source(packet: $0) } : [])
        case .air(let air):
            check(air.predicates, isSubject && air.operation == .expect ? [Source(packet: air.name)] : [])
            for entry in air.fields { use(entry.value) }
        case .action(let action):
            for entry in action.arguments { use(entry.value) }
        case .check(let operand, let predicate): check(predicate, resolved(operand))
        case .repeated(let times, _, _): use(times)
        case .each, .expectNone, .wait, .mark, .attempts, .parallel, .either, .procedure: break
        }
    }

    private mutating func check(_ fields: [FieldPredicate], _ sources: [Source]) {
        for field in fields {
            check(
                field.predicate,
                sources.map { source in
                    var source = source
                    source.path.append(field.name)
                    return source
                })
        }
    }

    private mutating func check(_ predicate: Predicate, _ sources: [Source]) {
        switch predicate {
        case .any, .length: break
        case .parts(let parts): check(parts, sources)
        case .not(let inner), .anyElement(let inner), .everyElement(let inner): check(inner, sources)
        case .anyOf(let all), .allOf(let all): for inner in all { check(inner, sources) }
        case .equals(let operand), .bits(let operand), .starts(let operand), .ends(let operand), .contains(let operand):
            use(operand)
            for source in sources { mark(source.packet, source.path) }
        case .range(let low, let high):
            for operand in [low, high].compactMap({ $0 }) { use(operand) }
            for source in sources { mark(source.packet, source.path) }
        case .masked, .integer: for source in sources { mark(source.packet, source.path) }
        }
    }

    /// Marks the fields that a value is taken from: what the value is used for depends on them.
    private mutating func use(_ operand: Operand) {
        switch operand {
        case .reference, .part, .address, .joined: for source in resolved(operand) { mark(source.packet, source.path) }
        case .list(let list): for element in list { use(element) }
        case .record(let entries): for entry in entries { use(entry.value) }
        case .filled(_, let times): use(times)
        case .literal: break
        }
    }

    private mutating func mark(_ packet: String, _ path: [String]) {
        if !path.isEmpty { read[packet, default: []].insert(path.joined(separator: ".")) }
    }
}

extension Step {
    /// The step and all steps inside it.
    fileprivate var withInner: [Step] { [self] + inner.flatMap(\.withInner) }
}
