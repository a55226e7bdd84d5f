import BBCases

/// A failure that the user expects, with the reason. It does not fail the run; its absence does.
public struct ExpectedFailure: Sendable, Hashable, Codable {
    /// The id of a case, of one of its rounds, or of a public test case.
    public var id: String
    public var reason: String
    /// The ids of all cases that it stands for, also of those that another shard runs.
    public var cases: [String]

    public init(id: String, reason: String, cases: [String]) { (self.id, self.reason, self.cases) = (id, reason, cases) }
}

extension RunPlan {
    /// Adds the failures that the user expects.
    ///
    /// - Parameters:
    ///   - tests: the public test cases.
    ///   - exists: true for the id of a case file, which need not be part of this run.
    /// - Throws: `Problems` for an id that is neither that of a case nor of a public test case.
    public mutating func expect(
        _ entries: [ExpectedFailureList.Entry], _ tests: PublicTests, exists: (String) -> Bool
    ) throws(Problems) {
        var problems: [Problem] = []
        for entry in entries {
            let file = String(entry.id.prefix { $0 != "[" })
            let isLoaded = catalogue.cases.contains { $0.file == file }
            var cases = catalogue.cases.filter { $0.id == entry.id || $0.file == entry.id }.map(\.id)
            if cases.isEmpty, !isLoaded {
                cases = catalogue.cases.filter { $0.covers.contains { $0.id == entry.id } }.map(\.id)
                let loaded = Set(catalogue.cases.map(\.file))
                // A file that was not read stands for its rounds, so that the list is not complete.
                cases += tests[entry.id]?.cases.filter { !loaded.contains($0) } ?? []
                if cases.isEmpty, tests[entry.id] != nil || exists(file) { cases = [entry.id] }
            }
            if cases.isEmpty {
                let names = catalogue.cases.map(\.file) + catalogue.cases.map(\.id) + tests.ids
                let near = Suggestion.text(for: entry.id, among: names)
                problems.append(Problem(entry.position, "'\(entry.id)' is neither a case nor a public test case\(near)"))
            }
            expectedFailures.append(ExpectedFailure(id: entry.id, reason: entry.reason, cases: cases))
        }
        guard problems.isEmpty else { throw Problems(problems) }
    }
}

extension RunResult {
    /// Returns the expectation that a case fails.
    public func expectation(of result: CaseResult) -> ExpectedFailure? { expectedFailures.first { $0.cases.contains(result.id) } }

    /// True for a FAIL that the user expects.
    public func isExpected(_ result: CaseResult) -> Bool { result.verdict == .fail && expectation(of: result) != nil }

    public var expectedFailureCount: Int { cases.count(where: isExpected) }

    /// The expectations whose cases all ran, passed or were N/A, and did not fail.
    public var unexpectedPasses: [ExpectedFailure] {
        guard !expectedFailures.isEmpty else { return [] }
        let verdicts = Dictionary(cases.map { ($0.id, $0.verdict) }) { first, _ in first }
        return expectedFailures.filter { expected in
            let own = expected.cases.map { verdicts[$0] }
            return own.contains(.pass) && own.allSatisfy { $0 == .pass || $0 == .notApplicable }
        }
    }
}
