import BBPackets

/// The procedures of a folder and the properties of their steps.
package struct ProcedureTable {
    private let procedures: [String: Procedure]
    /// Procedures that use themselves, with the position of the use.
    let circles: [Problem]
    private let inCircles: Set<String>

    init(_ procedures: [String: Procedure] = [:]) {
        self.procedures = procedures
        var found: [Problem] = []
        var names: Set<String> = []
        for procedure in procedures.values.sorted(by: { $0.name < $1.name }) {
            for (use, position) in Self.uses(in: procedure.steps) where Self.reaches(procedure.name, from: use, procedures) {
                found.append(
                    Problem(position, "procedure \(procedure.name) uses itself" + (use == procedure.name ? "" : " by way of \(use)")))
                names.insert(procedure.name)
            }
        }
        circles = found
        inCircles = names
    }

    /// Returns a procedure; nil if it uses itself.
    subscript(name: String) -> Procedure? { inCircles.contains(name) ? nil : procedures[name] }

    private static func uses(in steps: [Step]) -> [(String, Position)] {
        steps.flatMap { step -> [(String, Position)] in
            if case .procedure(let use) = step.kind { return [(use.name, step.position)] }
            return uses(in: step.inner)
        }
    }

    private static func reaches(_ goal: String, from start: String, _ procedures: [String: Procedure]) -> Bool {
        var seen: Set<String> = []
        var open = [start]
        while let name = open.popLast() {
            if name == goal { return true }
            guard seen.insert(name).inserted, let procedure = procedures[name] else { continue }
            open += uses(in: procedure.steps).map(\.0)
        }
        return false
    }

    // MARK: Properties of steps

    /// Returns the minimum and maximum number of a loop's iterations.
    package func count(_ times: Operand, _ given: [String: ValueShape]) -> (least: Int, most: Int) {
        switch times {
        case .literal(.number(let count)): return (count, max(0, count))
        case .reference(let reference):
            let bounds = bounds(of: reference, given)
            return (bounds.least ?? 0, min(bounds.most ?? 10_000, 10_000))
        default: return (0, 10_000)
        }
    }

    /// Returns the least and the greatest value of a saved number, as far as they are known.
    func bounds(of reference: Reference, _ given: [String: ValueShape]) -> (least: Int?, most: Int?) {
        var shape = given[reference.name] ?? .any
        for part in reference.path {
            if case .success(let inner) = shape.part(part, of: reference) { shape = inner } else { shape = .any }
        }
        return (shape.least, shape.most)
    }

    /// Returns the maximum number of executed steps, including loops and procedures.
    func cost(of steps: [Step], _ given: [String: ValueShape]) -> Int {
        var known: [String: Int] = [:]
        return cost(of: steps, given, &known)
    }

    /// Maximum number of executed steps, including loops and procedures.
    ///
    /// - Parameter known: the costs of procedures that have already been calculated.
    private func cost(of steps: [Step], _ given: [String: ValueShape], _ known: inout [String: Int]) -> Int {
        var sum = 0
        for step in steps {
            var each = 1
            switch step.kind {
            case .repeated(let times, _, let inner): each = Self.product(count(times, given).most, cost(of: inner, given, &known))
            case .each(let list, let name, let inner):
                var given = given
                given[name] = ValueShape.element(of: list, given)
                each = Self.product(Step.mostElements, cost(of: inner, given, &known))
            case .attempts(let most, let inner, let between): each = Self.product(most, cost(of: inner + between, given, &known))
            case .until(_, let atMost, let inner): each = Self.product(atMost, cost(of: inner, given, &known))
            case .parallel(let branches), .either(let branches):
                for branch in branches { each = Self.sum(each, cost(of: branch, given, &known)) }
            case .procedure(let use):
                guard let procedure = self[use.name] else { break }
                let own = Dictionary(procedure.parameters.map { ($0.name, ValueShape($0)) }) { first, _ in first }
                each = known[use.name] ?? cost(of: procedure.steps, own, &known)
                known[use.name] = each
            case .send, .action, .expect, .expectNone, .measure, .air, .check, .wait, .mark: break
            }
            sum = Self.sum(sum, each)
        }
        return sum
    }

    private static func product(_ a: Int, _ b: Int) -> Int { min(1_000_000, min(a, 1_000_000) * min(b, 1_000_000)) }
    private static func sum(_ a: Int, _ b: Int) -> Int { min(1_000_000, a + b) }

    /// True if a step of the procedure, or of a procedure that it uses, belongs to the side.
    func acts(as side: Side, in procedure: Procedure, _ cast: [String: Side]) -> Bool {
        var seen: Set<Visit> = []
        return acts(as: side, procedure.steps, cast, &seen)
    }

    /// A use of a procedure.
    package struct Visit: Hashable {
        package var name: String
        /// The side in the first role, if the step specifies it.
        var actor: Side?
    }

    private func acts(as side: Side, _ steps: [Step], _ cast: [String: Side], _ seen: inout Set<Visit>) -> Bool {
        steps.contains { step in
            let actor = step.role.flatMap { cast[$0] } ?? step.side
            switch step.kind {
            case .send, .action, .expect, .expectNone, .measure, .air: return actor == side
            case .until(_, _, let inner): return actor == side || acts(as: side, inner, cast, &seen)
            case .repeated(_, _, let inner), .each(_, _, let inner): return acts(as: side, inner, cast, &seen)
            case .attempts(_, let inner, let between): return acts(as: side, inner + between, cast, &seen)
            case .parallel(let branches), .either(let branches): return branches.contains { acts(as: side, $0, cast, &seen) }
            case .procedure(let use):
                let visit = Visit(name: use.name, actor: use.isDirected ? actor : nil)
                guard let procedure = self[use.name], seen.insert(visit).inserted else { return false }
                return acts(as: side, procedure.steps, procedure.cast(visit.actor), &seen)
            case .check, .wait, .mark: return false
            }
        }
    }

    /// Returns the shape of the procedure's result.
    func gives(of procedure: Procedure, _ cast: [String: Side]) -> ValueShape {
        var parts: [String: ValueShape] = [:]
        for entry in procedure.gives { for name in procedure.names(of: entry, cast) { parts[name] = .any } }
        return .record(parts)
    }

    /// True if a step observes or changes the simulated air.
    func useAir(_ steps: [Step], _ vocabulary: Vocabulary) -> Bool {
        var seen: Set<String> = []
        return useAir(steps, vocabulary, &seen)
    }

    private func isAir(_ name: String, _ vocabulary: Vocabulary) -> Bool {
        vocabulary.pdus[name].map { Set<Layer>.air.contains($0.layer) } ?? false
    }

    private func useAir(_ steps: [Step], _ vocabulary: Vocabulary, _ seen: inout Set<String>) -> Bool {
        steps.contains { step in
            // A step with a condition on the air has no effect without it.
            if let condition = step.condition, !condition.canHold(without: ["air"]) { return false }
            return switch step.kind {
            case .air: true
            case .expect(let expectation), .expectNone(let expectation), .until(let expectation, _, _):
                isAir(expectation.name, vocabulary) || useAir(step.inner, vocabulary, &seen)
            case .measure(let measurement): isAir(measurement.name, vocabulary)
            case .action(let action): vocabulary.actions[action.name]?.isAboutAir == true
            case .procedure(let use):
                seen.insert(use.name).inserted && self[use.name].map { useAir($0.steps, vocabulary, &seen) } ?? false
            case .repeated, .each, .attempts, .parallel, .either: useAir(step.inner, vocabulary, &seen)
            case .send, .check, .wait, .mark: false
            }
        }
    }
}

extension Procedure {
    /// Returns the names of an element of `gives`: its own name, or the side in the role of that name.
    package func names(of entry: Operand.Entry, _ cast: [String: Side]) -> [String] {
        guard entry.name.hasPrefix("$") else { return [entry.name] }
        if let side = cast[String(entry.name.dropFirst())] { return [side.rawValue] }
        return Side.allCases.map(\.rawValue)
    }
}
