/// The execution of a step in the case's own file.
public struct StepRecord: Sendable, Hashable, Codable {
    public enum Part: String, Sendable, Hashable, Codable, CaseIterable {
        case setup, steps, teardown
    }

    public enum Outcome: String, Sendable, Hashable, Codable, CaseIterable {
        case done
        /// The condition was false.
        case skipped
        /// The step failed; unless it was repeated, the case ended here.
        case stopped
        /// The case ended before the step, or took another branch.
        case notReached = "not-reached"
    }

    public var part: Part
    /// The nesting depth of the step.
    public var depth: Int
    /// The position, such as `Conformance/phy/case.yaml:31:5`.
    public var position: String
    /// A description of the step.
    public var step: String
    /// The step's requirement; nil for a step without one.
    public var requirement: String?
    /// The start of the last execution on the case's clock, as in `Evidence`.
    public var beganMilliseconds: Double?
    public var endedMilliseconds: Double?
    public var outcome = Outcome.notReached
    /// The number of executions.
    public var times = 0

    private enum CodingKeys: String, CodingKey {
        case part, depth, position, step, requirement, outcome, times
        case beganMilliseconds = "began_ms"
        case endedMilliseconds = "ended_ms"
    }
}
