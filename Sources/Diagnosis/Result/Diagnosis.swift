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
    /// The packets that were examined.
    public var coverage: Coverage

    /// The cases of a run, by number, and those that passed; nil for another capture.
    private let cases: (count: Int, passed: Set<Int>)?

    init(
        packets: Int, duration: Int64, links: [LinkReport], devices: [String], findings: [Finding], coverage: Coverage,
        cases: (count: Int, passed: Set<Int>)?
    ) {
        self.cases = cases
        (self.packets, self.duration, self.links) = (packets, duration, links)
        (self.devices, self.findings, self.coverage) = (devices, findings, coverage)
    }

    /// Leaves out the findings that a test bench brings about on purpose: those of cases that passed. In a capture without marks of its
    /// cases, those of a missing answer or a wrong value remain, and those of the user's rules do in any.
    public mutating func leaveOutProvoked() {
        let kept = findings.filter { finding in
            if finding.rule.isOwn { return true }
            guard let cases else { return !finding.rule.isProvokable }
            return finding.section > 0 && !cases.passed.contains(finding.section)
        }
        (provoked, findings) = (provoked + findings.count - kept.count, kept)
    }

    /// Findings that name a cause, in order.
    public var causes: [Finding] { findings.filter { $0.rule.severity <= .symptom || $0.rule.severity == .capture } }

    /// Orders findings by severity and time. A finding that another rule explains becomes a symptom of the link's earlier cause.
    static func ordered(_ findings: [Finding]) -> [Finding] {
        var findings = findings
        let causes = Causes(findings)
        for index in findings.indices { findings[index].cause = causes.first(of: findings[index]).map { findings[$0].rule.id } }
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

/// The findings that explain others, by the rules that they explain and by link. A capture of a run has thousands of findings.
private struct Causes {
    private struct Place: Hashable {
        var rule: String
        var link: Int
    }

    private var ofLinks: [Place: Int] = [:]
    /// Those without a link, and the first ones of any link.
    private var ofNoLink: [String: Int] = [:]
    private var ofAny: [String: Int] = [:]

    init(_ findings: [Finding]) {
        for (index, finding) in findings.enumerated() {
            for rule in finding.rule.explains {
                if ofAny[rule] == nil { ofAny[rule] = index }
                if finding.links.isEmpty, ofNoLink[rule] == nil { ofNoLink[rule] = index }
                for link in finding.links where ofLinks[Place(rule: rule, link: link)] == nil {
                    ofLinks[Place(rule: rule, link: link)] = index
                }
            }
        }
    }

    /// The index of the first finding that explains another one on a common link.
    func first(of finding: Finding) -> Int? {
        let rule = finding.rule.id
        guard ofAny[rule] != nil else { return nil }
        if finding.links.isEmpty { return ofAny[rule] }
        return (finding.links.compactMap { ofLinks[Place(rule: rule, link: $0)] } + [ofNoLink[rule]].compactMap(\.self)).min()
    }
}
