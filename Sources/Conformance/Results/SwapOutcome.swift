/// The result of a FAIL that was repeated with exchanged dongles.
public struct SwapOutcome: Sendable, Hashable, Codable {
    public enum Finding: String, Sendable, Hashable, Codable, CaseIterable {
        /// The case passes with the other dongle as subject.
        case wentWithTheDongle = "went with the dongle"
        /// The case fails with either dongle as subject.
        case stayed = "did not go with the dongle"
        /// The repetition has no verdict.
        case unknown = "cannot be told"
    }

    public var verdict: Verdict
    public var message: String
    public var finding: Finding

    public init(_ result: CaseResult) {
        verdict = result.verdict
        message = result.message
        finding =
            switch result.verdict {
            case .pass: .wentWithTheDongle
            case .fail: .stayed
            case .inconclusive, .notApplicable, .error: .unknown
            }
    }

    /// A one-line description.
    public var line: String {
        switch finding {
        case .wentWithTheDongle: "the FAIL went with the dongle: with tester and subject exchanged the case passes"
        case .stayed: "the FAIL did not go with the dongle: with tester and subject exchanged the case fails, too: \(message)"
        case .unknown:
            "whether the FAIL goes with the dongle cannot be told: with tester and subject exchanged the case is \(verdict.rawValue): \(message)"
        }
    }
}
