import BBCases
import BBPackets

/// The failure of a step and its cause.
struct StepFailure: Error {
    enum Blame {
        /// The subject behaved differently than the step requires.
        case subject
        /// The tester, or a condition of the step.
        case precondition
        /// A device does not have or use the tested feature.
        case limitation
        /// The connection to a device, or the time limit of the case.
        case environment
        /// A defect of the bench.
        case bench
    }

    var blame: Blame
    var message: String
    var evidence: [Evidence] = []
    var step: Step?
    /// A packet that was received although the message reports none.
    var overlooked: Evidence?
    /// The loss of the connection on which an answer of the subject was awaited.
    var lostLink: LostLink?
    /// True if the device over the air was not found, so that nothing could be tried.
    var isOfMissingDevice = false
    /// True if `each` continues with the next element.
    var skipsElement = false
    /// The expected and the received values, if they can be compared.
    var diff: ExpectationDiff?

    init(_ blame: Blame, _ message: String, evidence: [Evidence] = []) {
        self.blame = blame
        self.message = message
        self.evidence = evidence
    }

    /// Returns the failure with the comparison of expected and received values.
    func comparing(_ diff: ExpectationDiff?) -> StepFailure {
        var failure = self
        failure.diff = diff
        return failure
    }
}
