extension TestCase {
    /// Returns the steps of the case and of its procedures with roles replaced by sides; each procedure occurs once for each acting side.
    package func castSteps(_ catalogue: Catalogue) -> [Step] {
        var (open, found, seen) = (setup + steps + teardown, [Step](), Set<ProcedureTable.Visit>())
        while let step = open.popLast() {
            found.append(step)
            open += step.inner
            guard case .procedure(let use) = step.kind, let procedure = catalogue.procedures[use.name] else { continue }
            let visit = ProcedureTable.Visit(name: use.name, actor: use.isDirected ? step.side : nil)
            if seen.insert(visit).inserted { open += procedure.steps.map { $0.with(procedure.cast(visit.actor)) } }
        }
        return found
    }

    /// True if a step of the case or of its procedures satisfies the test.
    package func anyStep(_ catalogue: Catalogue, _ test: (Step) -> Bool) -> Bool {
        var open = setup + steps + teardown
        var seen: Set<String> = []
        while let step = open.popLast() {
            if test(step) { return true }
            open += step.inner
            guard case .procedure(let use) = step.kind, seen.insert(use.name).inserted else { continue }
            open += catalogue.procedures[use.name]?.steps ?? []
        }
        return false
    }
}
