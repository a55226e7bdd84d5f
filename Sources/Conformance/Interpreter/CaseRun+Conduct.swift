import Cases

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

    /// A failure that is not held against the subject where the tester's dongle is no reliability.
    func excused(_ failure: StepFailure) -> StepFailure {
        guard failure.blame == .subject, bench.end(.subject)?.violation == nil, let tester = bench.end(.tester),
            let impediment = impediment(of: tester)
        else { return failure }
        var excused = failure
        excused.blame = .environment
        excused.message =
            "\(failure.message) Not held against the subject: of the tester's dongle, \(impediment.text) (packet \(impediment.packet))"
        excused.evidence.append(impediment)
        return excused
    }

    /// Why an end's dongle is no reliability: it broke off, or lost count of its buffers, in which data is lost.
    func impediment(of end: Endpoint) -> Evidence? {
        if let impediment = end.reliability.impediment(isClaimed: { feature("\(end.side.rawValue).\($0)") }) { return impediment }
        guard let violation = end.violation, violation.isAboutCredits else { return nil }
        return Evidence(packet: violation.evidence.first?.packet ?? 0, side: end.side.rawValue, text: violation.text)
    }
}
