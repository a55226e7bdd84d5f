/// Marks that lose packets: a packet that one side was quick to send lies before a mark that waits for the other side.
extension CaseCheck {
    /// The marks that are set in a row of steps, as far as nothing has acted since.
    private struct IdleMarks {
        /// The last step was a wait: what came before it is left out on purpose.
        var hasWaited = false
        /// The side awaited last; nil once a step has acted since.
        var awaited: String?
        /// Each mark after which nothing has acted, with the one side whose packets cannot lie before it.
        var ordered: [String: String?] = [:]

        mutating func act() { self = IdleMarks() }
    }

    /// Reports expectations that count from a mark although nothing acts between the two. Packets of one end are in order; those of two ends are not.
    mutating func checkMarks(_ steps: [Step]) {
        var marks = IdleMarks()
        for step in steps {
            checkMark(step, &marks)
            for branch in step.rows { checkMarks(branch) }
        }
    }

    private mutating func checkMark(_ step: Step, _ marks: inout IdleMarks) {
        let who = step.role ?? step.side.rawValue
        switch step.kind {
        case .mark:
            if let label = step.label, !marks.hasWaited { marks.ordered.updateValue(marks.awaited, forKey: label) }
        case .expect(let expectation):
            if let since = expectation.since, let awaited = marks.ordered[since], awaited != who {
                let advice = "leave `since:` out, or set the mark before the step that causes it"
                report(step.position, "nothing acts between '\(since)' and this step: what came before the mark is lost; \(advice)")
            }
            marks.awaited = who
            marks.hasWaited = false
        case .wait: marks.hasWaited = true
        case .expectNone, .measure, .check: break
        case .send, .action, .air, .procedure, .repeated, .each, .attempts, .parallel, .either, .until: marks.act()
        }
    }
}

extension Step {
    /// The rows of steps inside it.
    fileprivate var rows: [[Step]] {
        switch kind {
        case .repeated(_, _, let steps), .each(_, _, let steps), .until(_, _, let steps): [steps]
        case .attempts(_, let steps, let between): [steps, between]
        case .parallel(let branches), .either(let branches): branches
        case .send, .action, .expect, .expectNone, .measure, .air, .check, .wait, .mark, .procedure: []
        }
    }
}
