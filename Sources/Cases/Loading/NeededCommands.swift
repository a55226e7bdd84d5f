extension TestCase {
    /// Adds the optional commands to `needs:` that the case sends on every way through its steps.
    mutating func addNeededCommands(_ procedures: ProcedureTable, _ vocabulary: Vocabulary) {
        var seen: Set<ProcedureTable.Visit> = []
        let sent = procedures.commands(in: setup + steps + teardown, [:], vocabulary, &seen)
        for name in sent.subtracting(needs?.names ?? []).sorted() {
            let feature = Requirement.feature(name)
            needs = needs.map { .and($0, feature) } ?? feature
        }
    }
}

extension ProcedureTable {
    /// Returns the optional commands, as `subject.LE_Set_PHY`, that the steps and their procedures send. Steps that may be left out, and
    /// those with `otherwise:`, do not count.
    fileprivate func commands(
        in steps: [Step], _ cast: [String: Side], _ vocabulary: Vocabulary, _ seen: inout Set<Visit>
    ) -> Set<String> {
        var found: Set<String> = []
        for step in steps where step.condition == nil && step.otherwise == nil {
            let side = step.role.flatMap { cast[$0] } ?? step.side
            switch step.kind {
            case .send(let command):
                let isOptional = vocabulary.commands.contains(command.name) && !Features.mandatory.contains(command.name)
                if isOptional { found.insert("\(side.rawValue).\(command.name)") }
            case .repeated(_, _, let inner), .until(_, _, let inner), .attempts(_, let inner, _):
                found.formUnion(commands(in: inner, cast, vocabulary, &seen))
            case .parallel(let branches):
                for branch in branches { found.formUnion(commands(in: branch, cast, vocabulary, &seen)) }
            case .procedure(let use):
                let visit = Visit(name: use.name, actor: use.isDirected ? side : nil)
                guard let procedure = self[use.name], seen.insert(visit).inserted else { continue }
                found.formUnion(commands(in: procedure.steps, procedure.cast(visit.actor), vocabulary, &seen))
            case .either, .each, .action, .expect, .expectNone, .measure, .air, .check, .wait, .mark: break
            }
        }
        return found
    }
}
