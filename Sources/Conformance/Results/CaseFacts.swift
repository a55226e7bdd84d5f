import BBCases

/// The range of a case's packets in a capture, counted from 1 and inclusive.
public struct PacketRange: Sendable, Hashable {
    public var first: Int
    public var last: Int

    /// Returns nil for an empty range.
    public init?(first: Int, last: Int) {
        guard first > 0, last >= first else { return nil }
        self.first = first
        self.last = last
    }
}

/// The contents of a case file that a report displays.
public struct CaseFacts: Sendable, Hashable {
    /// The path, such as `Conformance/phy/central-asks-2m.yaml`.
    public var file = ""
    public var purpose = ""
    /// The judged section.
    public var reference = ""
    public var tags: [String] = []

    public init() {}

    public init(_ testCase: TestCase) {
        (file, purpose, reference, tags) = (testCase.position.file, testCase.purpose, testCase.reference, testCase.tags)
    }
}
