/// Detection of marks that lose packets: a packet that one side sends early can precede a mark that waits for the other side.
extension CaseCheck {
    /// The marks in a list of steps since the last step that acted.
    private struct IdleMarks {
        /// True if the last step was a wait: earlier packets are excluded intentionally.
        var hasWaited = false
        /// The side awaited last; nil after a step that acts.
        var awaited: String?
        /// The marks after which no step has acted, with the only side whose packets cannot precede the mark.
        var ordered: [String: String?] = [:]

        mutating func act() { self = IdleMarks() }
    }

    /// Reports expectations that count from a mark although no step acts between the two. Packets of one end are in order; packets of two
    /// ends are not.
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
    /// The lists of steps inside the step.
    fileprivate var rows: [[Step]] {
        switch kind {
        case .repeated(_, _, let steps), .each(_, _, let steps), .until(_, _, let steps): [steps]
        case .attempts(_, let steps, let between): [steps, between]
        case .parallel(let branches), .either(let branches): branches
        case .send, .action, .expect, .expectNone, .measure, .air, .check, .wait, .mark, .procedure: []
        }
    }
}
