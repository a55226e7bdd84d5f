import Cases
import Timing

/// What to run, and how.
public struct RunPlan: Sendable {
    public var catalogue: Catalogue
    public var setup: BenchSetup
    /// In the order in which they run.
    public var cases: [TestCase]
    public var shuffle: UInt64?
    /// Values of parameters by name, or by `suite/case.name`.
    public var parameters: [String: CaseValue] = [:]
    /// How often a case that neither passes nor is N/A is tried again.
    public var retries = 0
    /// After so many cases that FAIL or end in ERROR no further one is run; nil: all are.
    public var mostFailures: Int?
    /// The part of the cases that is run, as it was asked for.
    public var shard: String?
    /// Each FAIL is repeated with the tester's and the subject's dongle exchanged.
    public var swapsFailures = false
    /// Results have the packets of the cases, for a report.
    public var keepsTraces = false
    /// Results of an earlier run that is continued.
    public var known: [String: CaseResult] = [:]
    /// The stored description of the device over the air, which the run compares with the device; nil: a survey says all.
    public var device: DeviceDescription?
    /// The name of its file.
    public var deviceFile = "its description"
    /// Words of the user's own about the run, and `build`: what was tested.
    public var labels: [String: String] = [:]

    /// - Parameters:
    ///   - filters: ids, suites, or parts of ids with `*`; all cases when empty.
    ///   - tags: if there are any, cases with none of them are left out.
    /// - Throws: `Problems` when a filter or a tag matches nothing.
    public init(
        catalogue: Catalogue, setup: BenchSetup, filters: [String], tags: [String] = [], shuffle: UInt64? = nil
    ) throws(Problems) {
        self.catalogue = catalogue
        self.setup = setup
        self.shuffle = shuffle
        if let profile = setup.profile, catalogue.profiles[profile] == nil {
            let known = catalogue.profiles.keys.sorted()
            let hint = Suggestion.text(for: profile, among: known)
            let text = "there is no profile of this name" + (hint.isEmpty ? "; there are \(known.joined(separator: ", "))" : hint)
            throw Problems([Problem(Position(file: "'\(profile)'", line: 1, column: 1), text)])
        }
        // Rules of profiles are judged where somebody asks for them.
        cases = try Self.select(catalogue.cases, filters, tags).filter { testCase in
            testCase.rule == nil || setup.profile != nil || filters.contains { CaseFilter.matches(testCase.id, $0) }
        }
        if let shuffle {
            var random = RandomSource(seed: shuffle, label: "order of cases")
            cases.shuffle(using: &random)
        }
    }

    static func select(_ all: [TestCase], _ filters: [String], _ tags: [String] = []) throws(Problems) -> [TestCase] {
        var problems: [Problem] = []
        for tag in tags where CaseTag.all[tag] == nil {
            let text = "there is no tag '\(tag)'" + Suggestion.text(for: tag, among: CaseTag.all.keys)
            problems.append(Problem(Position(file: tag, line: 1, column: 1), text))
        }
        for filter in filters where !all.contains(where: { matches($0, filter) }) {
            problems.append(
                Problem(Position(file: "'\(filter)'", line: 1, column: 1), "no case or suite has this name" + hint(for: filter, all)))
        }
        guard problems.isEmpty else { throw Problems(problems) }
        return all.filter { testCase in
            (filters.isEmpty || filters.contains { matches(testCase, $0) })
                && (tags.isEmpty || tags.contains { testCase.tags.contains($0) })
        }
    }

    /// Suites that begin so, else a near name, else what suites there are.
    private static func hint(for filter: String, _ all: [TestCase]) -> String {
        if CaseTag.all[filter] != nil { return "; as a tag it is --tag \(filter)" }
        let suites = Set(all.map(\.suite)).sorted()
        let begun = filter.isEmpty ? [] : suites.filter { $0.hasPrefix(filter) }
        if !begun.isEmpty { return "; there are \(begun.joined(separator: ", ")): '\(filter)*' is all of them" }
        let near = Suggestion.text(for: filter, among: all.map(\.id) + suites + SubjectKind.allCases.map(\.rawValue))
        return near.isEmpty || filter.isEmpty ? "; the suites are \(suites.joined(separator: ", ")); --list shows the cases" : near
    }

    /// A kind of subject, too, stands for its cases.
    private static func matches(_ testCase: TestCase, _ filter: String) -> Bool {
        CaseFilter.matches(testCase.id, filter) || testCase.subject.rawValue == filter
    }
}
