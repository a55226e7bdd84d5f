import BBPackets

/// Results of a check-up, complete or not.
public struct CheckUpReport: Sendable {
    /// Findings in the order in which they were made.
    public var findings: [CheckUpFinding] = []
    public var identity: DongleIdentity?
    public var numbers: DongleNumbers?
    /// Identifiers of matching rows in the table of known dongles.
    public var known: [String] = []
    /// Measured values with their names: `slowest command`, `HCI_Reset`, `links`.
    public var figures: [Figure] = []
    /// Names of completed checks.
    public var made: [String] = []
    /// Skipped checks with the reason.
    public var skipped: [Skipped] = []
    /// Reason for an early end; nil if all checks were completed.
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
