/// One step of a case's own file, as it went.
public struct StepRecord: Sendable, Hashable, Codable {
    public enum Part: String, Sendable, Hashable, Codable {
        case setup, steps, teardown
    }

    public enum Outcome: String, Sendable, Hashable, Codable {
        case done
        /// Its condition did not hold.
        case skipped
        /// It did not succeed; where nothing tries it again, the case ended here.
        case stopped
        /// The case ended before it, or took another branch.
        case notReached = "not-reached"
    }

    public var part: Part
    /// How many steps it is inside of.
    public var depth: Int
    /// `Conformance/phy/case.yaml:31:5`.
    public var position: String
    /// The step in words.
    public var step: String
    /// The requirement the step states; nil for a step that is only a way to one.
    public var requirement: String?
    /// When it was run last, on the clock of the case, as that of `Evidence`.
    public var beganMilliseconds: Double?
    public var endedMilliseconds: Double?
    public var outcome = Outcome.notReached
    /// How often it was run.
    public var times = 0

    private enum CodingKeys: String, CodingKey {
        case part, depth, position, step, requirement, outcome, times
        case beganMilliseconds = "began_ms"
        case endedMilliseconds = "ended_ms"
    }
}
