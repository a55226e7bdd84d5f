import Packets

/// What a check-up has found out, as far as it came.
public struct CheckUpReport: Sendable {
    /// In the order in which they were found.
    public var findings: [CheckUpFinding] = []
    public var identity: DongleIdentity?
    public var numbers: DongleNumbers?
    /// The rows of the table that the dongle fits, by id.
    public var known: [String] = []
    /// What was measured, in words: `slowest command`, `HCI_Reset`, `links`.
    public var figures: [Figure] = []
    /// The names of the checks that were made to their end.
    public var made: [String] = []
    /// Checks that were left out, each with the reason.
    public var skipped: [Skipped] = []
    /// Why it ended early; nil when it came to its end.
    public var ended: String?

    public struct Figure: Sendable, Hashable, Codable {
        public var name: String
        public var value: String
    }

    public struct Skipped: Sendable, Hashable, Codable {
        public var check: String
        public var reason: String
    }

    public init() {}

    public var faults: [CheckUpFinding] { findings.filter { $0.weight == .fault } }
    public var notes: [CheckUpFinding] { findings.filter { $0.weight == .note } }

    public mutating func add(_ finding: CheckUpFinding) {
        if !findings.contains(where: { $0.name == finding.name }) { findings.append(finding) }
    }
}

extension CheckUpReport: Encodable {
    private enum Key: String, CodingKey { case findings, numbers, known, figures, made, skipped, ended }

    public func encode(to encoder: any Encoder) throws {
        var values = encoder.container(keyedBy: Key.self)
        try values.encode(findings, forKey: .findings)
        try values.encodeIfPresent(numbers, forKey: .numbers)
        try values.encode(known, forKey: .known)
        try values.encode(figures, forKey: .figures)
        try values.encode(made, forKey: .made)
        try values.encode(skipped, forKey: .skipped)
        try values.encodeIfPresent(ended, forKey: .ended)
    }
}
