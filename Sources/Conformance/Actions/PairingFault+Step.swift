import BBProducts

extension PairingFault {
    /// The failure of the step that pairs.
    var stepFailure: any Error {
        switch cause {
        case .device: return ActionFinding(text: description)
        case .declined: return StepFailure(.limitation, description)
        case .surroundings:
            var failure = StepFailure(.environment, description)
            failure.lostLink = reason.flatMap { LostLink($0) }
            return failure
        }
    }
}
