/// The explanation of a capture.
public struct Diagnosis: Sendable {
    public var packets: Int
    /// Microseconds from the first to the last packet.
    public var duration: Int64
    public var links: [LinkReport]
    /// Descriptions of the devices; the first is device 1.
    public var devices: [String]
    /// Findings, causes first.
    public var findings: [Finding]
    /// Number of findings that a tester provoked and that were left out.
    public private(set) var provoked = 0

    /// Leaves out the findings that a test bench brings about on purpose. Those of a missing answer or a wrong value remain.
    public mutating func leaveOutProvoked() {
        let kept = findings.filter { !$0.rule.isProvokable }
        (provoked, findings) = (provoked + findings.count - kept.count, kept)
    }

    /// Findings that name a cause, in order.
    public var causes: [Finding] { findings.filter { $0.rule.severity <= .symptom || $0.rule.severity == .capture } }

    /// Orders findings by severity and time. A finding that another rule explains becomes a symptom of the link's earlier cause.
    static func ordered(_ findings: [Finding]) -> [Finding] {
        var findings = findings
        for index in findings.indices {
            let finding = findings[index]
            findings[index].cause =
                findings.first {
                    $0.rule.explains.contains(finding.rule.id) && ($0.link == finding.link || $0.link == nil || finding.link == nil)
                }?.rule.id
        }
        return findings.enumerated().sorted { a, b in
            let (left, right) = (a.element, b.element)
            let (first, second) = (left.rank, right.rank)
            return first != second
                ? first < second : left.packets[0] != right.packets[0] ? left.packets[0] < right.packets[0] : a.offset < b.offset
        }.map(\.element)
    }
}

extension Finding {
    /// Consequences of another finding come after its severity's causes.
    fileprivate var rank: Int {
        let order = DiagnosisRule.Severity.allCases.firstIndex(of: rule.severity) ?? 0
        return cause != nil && rule.severity == .fault ? 1 : order
    }
}
