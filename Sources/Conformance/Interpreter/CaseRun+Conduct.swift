/// What a controller under test does against the rules of HCI fails every case in which it does so, also in the setup.
extension CaseRun {
    /// - Parameter instead: what the step found, which may be a consequence.
    func judgeConduct(at step: Step, _ scope: Scope, instead failure: StepFailure? = nil) throws {
        guard !scope.isTeardown, failure?.step == nil, let fault = conduct(at: scope.caller ?? step, instead: failure) else { return }
        throw fault
    }

    /// The failure that the conduct is, placed at a step; nil where there is nothing against it.
    func conduct(at step: Step?, instead failure: StepFailure?) -> StepFailure? {
        guard testCase.subject == .controller, let violation = bench.end(.subject)?.violation, var place = step else { return nil }
        if let failure { notes.append("then: \(failure.message)") }
        place.states = violation.rule
        var fault = StepFailure(.subject, place.stating(violation.text), evidence: violation.evidence)
        fault.step = place
        return fault
    }
}
