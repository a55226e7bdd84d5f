/// The matching packets or requests on which a rule acts.
public struct Occurrences: Sendable, Hashable {
    /// Number of matches to leave unchanged first.
    public var skip: Int
    /// Act on every n-th match after those.
    public var every: Int
    /// Maximum number of actions; nil for no limit.
    public var count: Int?
    private var skipped = 0
    private var met = 0
    private var acted = 0

    public init(skip: Int = 0, every: Int = 1, count: Int? = nil) {
        (self.skip, self.every, self.count) = (skip, every, count)
    }

    /// True if the rule does not act any more.
    public var isExhausted: Bool { count.map { acted >= $0 } ?? false }

    /// Counts a match; true if the rule acts on it.
    public mutating func isDue() -> Bool {
        guard !isExhausted else { return false }
        guard skipped >= skip else {
            skipped += 1
            return false
        }
        met += 1
        guard every < 2 || met.isMultiple(of: every) else { return false }
        acted += 1
        return true
    }
}
