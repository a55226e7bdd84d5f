import BBCases

/// A violation of the rules about HCI or the air by a controller under test fails every case, even in the setup.
extension CaseRun {
    /// Fails if the subject has violated a rule about all commands and data.
    ///
    /// - Parameter instead: the step's failure, which may be a consequence.
    func judgeConduct(at step: Step, _ scope: Scope, instead failure: StepFailure? = nil) throws {
        guard !scope.isTeardown, failure?.step == nil, let fault = conduct(at: scope.caller ?? step, instead: failure) else { return }
        throw fault
    }

    /// Returns the violation as a failure of a step; nil if there is none.
    func conduct(at step: Step?, instead failure: StepFailure?) -> StepFailure? {
        guard testCase.subject == .controller else { return nil }
        bench.end(.subject)?.judgeUnanswered()
        guard let violation = bench.violation, var place = step else { return nil }
        if let failure { notes.append("then: \(failure.message)") }
        place.states = violation.rule
        var fault = StepFailure(.subject, place.stating(violation.text), evidence: violation.evidence)
        fault.step = place
        return fault
    }

    /// Returns a failure that is not attributed to the subject if the bench went on late after a wait, since what it then did may have come
    /// too late, or if the tester's dongle is unreliable.
    func excused(_ failure: StepFailure) -> StepFailure {
        guard failure.blame == .subject, bench.violation == nil else { return failure }
        var excused = failure
        if lateness > bench.slack {
            excused.blame = .environment
            excused.message =
                "\(failure.message) Not held against the subject: the bench went on \(lateness.text) late after a wait, more than the slack of "
                + "\(bench.slack.text)."
            return excused
        }
        guard let tester = bench.end(.tester), let impediment = impediment(of: tester) else { return failure }
        excused.blame = .environment
        excused.message =
            "\(failure.message) Not held against the subject: of the tester's dongle, \(impediment.text) (packet \(impediment.packet))"
        excused.evidence.append(impediment)
        return excused
    }

    /// Returns the reason why a side's dongle is unreliable: it was lost, or its buffer counts are wrong, which loses data.
    func impediment(of end: Endpoint) -> Evidence? {
        if let impediment = end.reliability.impediment(isClaimed: { feature("\(end.side.rawValue).\($0)") }) { return impediment }
        guard let violation = end.lossOfData else { return nil }
        return Evidence(packet: violation.evidence.first?.packet ?? 0, side: end.side.rawValue, text: violation.text)
    }
}
