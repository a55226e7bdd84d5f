import Cases

/// Where a case's packets are in a capture, counted from 1, both ends included.
public struct PacketRange: Sendable, Hashable {
    public var first: Int
    public var last: Int

    /// Nil for a range that is none.
    public init?(first: Int, last: Int) {
        guard first > 0, last >= first else { return nil }
        self.first = first
        self.last = last
    }
}

/// What the file of a case says of it, for people who read a report.
public struct CaseFacts: Sendable, Hashable {
    /// `Conformance/phy/central-asks-2m.yaml`.
    public var file = ""
    public var purpose = ""
    /// The section that is judged.
    public var reference = ""
    public var tags: [String] = []

    public init() {}

    public init(_ testCase: TestCase) {
        (file, purpose, reference, tags) = (testCase.position.file, testCase.purpose, testCase.reference, testCase.tags)
    }
}
