import Cases
import Packets

/// Why a step did not succeed, and whose fault it is.
struct StepFailure: Error {
    enum Blame {
        /// The subject did something else than the step asks.
        case subject
        /// The tester's end, or what the step builds on.
        case precondition
        /// An end that does not have, or does not want, what the case is about.
        case limitation
        /// The connection to a device, or the time of the whole case.
        case environment
        /// The bench.
        case bench
    }

    var blame: Blame
    var message: String
    var evidence: [Evidence] = []
    var step: Step?
    /// What came although the message says that nothing did.
    var overlooked: Evidence?
    /// The connection was lost where an answer of the subject's was awaited.
    var lostLink: LostLink?
    /// What was expected beside what came, where the two can be set side by side.
    var diff: ExpectationDiff?

    init(_ blame: Blame, _ message: String, evidence: [Evidence] = []) {
        self.blame = blame
        self.message = message
        self.evidence = evidence
    }

    /// The same failure, with what was expected beside what came.
    func comparing(_ diff: ExpectationDiff?) -> StepFailure {
        var failure = self
        failure.diff = diff
        return failure
    }
}
