/// A match of a rule.
public struct Finding: Sendable {
    public var rule: DiagnosisRule
    /// Number of the link, starting with 1.
    public var link: Int?
    public var device: Int?
    /// Numbers of the first packets, starting with 1.
    public var packets: [Int]
    /// Microseconds since the first packet of the capture.
    public var time: Int64
    public var message: String
    /// Number of matches on the link.
    public var count = 1
    /// The id of the rule that explains this finding, if it is a consequence.
    public var cause: String?
}
