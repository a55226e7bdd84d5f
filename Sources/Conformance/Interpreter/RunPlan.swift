import BBCases
import BBProducts
import BBTiming

/// The cases and settings of a run.
public struct RunPlan: Sendable {
    public var catalogue: Catalogue
    public var setup: BenchSetup
    /// The cases in order of execution.
    public var cases: [TestCase]
    public var shuffle: UInt64?
    /// The parameters by name, or by `suite/case.name`.
    public var parameters: [String: CaseValue] = [:]
    /// The number of retries of a case that neither passes nor is N/A.
    public var retries = 0
    /// True if a flaky case fails the run.
    public var failsOnFlaky = false
    /// The failures that do not fail the run.
    public internal(set) var expectedFailures: [ExpectedFailure] = []
    /// The number of cases with FAIL or ERROR after which the run ends; nil for no limit.
    public var mostFailures: Int?
    /// The selected shard, as given.
    public var shard: String?
    /// The cases that were divided into shards; nil for a run without them.
    public var selection: RunSelection?
    /// True to repeat each FAIL with exchanged dongles.
    public var swapsFailures = false
    /// True if results include the packets for a report.
    public var keepsTraces = false
    /// The results of an earlier run that is continued.
    public var known: [String: CaseResult] = [:]
    /// The stored description of the device over the air, which the run compares with the device; nil to use a survey.
    public var device: DeviceDescription?
    /// The name of the description's file.
    public var deviceFile = "its description"
    /// The user's commands around each case.
    public var commands = CaseCommands()
    /// The user's labels of the run, including `build`, the tested build.
    public var labels: [String: String] = [:]

    /// True for the trial of one case, which makes no report about commands.
    private(set) var isTrial = false

    /// The cases that the user has named one by one.
    private(set) var named: Set<String> = []

    /// The trial of one case.
    init(trying testCase: TestCase, catalogue: Catalogue, setup: BenchSetup) {
        (self.catalogue, self.setup, cases) = (catalogue, setup, [testCase])
        (isTrial, named) = (true, [testCase.id])
    }

    /// - Parameters:
    ///   - filters: ids, suites, or parts of ids with `*`; empty for all cases.
    ///   - tags: the tags of which a case needs at least one; empty for all cases.
    /// - Throws: `Problems` if a filter or a tag matches nothing.
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
        // Rules of profiles are judged only on request.
        let judgesRules = setup.profile.flatMap { catalogue.profiles[$0] }.map { !$0.isOfEvidence } ?? false
        cases = try Self.select(catalogue.cases, filters, tags).filter { testCase in
            testCase.rule == nil || judgesRules || filters.contains { CaseFilter.matches(testCase.id, $0) }
        }
        named = Set(
            cases.map(\.id).filter { id in filters.contains { $0.contains("/") && !$0.contains("*") && CaseFilter.matches(id, $0) } })
        if let shuffle {
            var random = RandomSource(seed: shuffle, label: "order of cases")
            cases.shuffle(using: &random)
        }
    }

    /// Removes all cases but these.
    mutating func keep(_ ids: Set<String>) { cases.removeAll { !ids.contains($0.id) } }

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

    /// Lists suites with the prefix, a near name, or all suites.
    private static func hint(for filter: String, _ all: [TestCase]) -> String {
        if CaseTag.all[filter] != nil { return "; as a tag it is --tag \(filter)" }
        if all.contains(where: { $0.covers.contains { $0.id == filter } }) { return "; as a public test case it is --covers \(filter)" }
        let suites = Set(all.map(\.suite)).sorted()
        let begun = filter.isEmpty ? [] : suites.filter { $0.hasPrefix(filter) }
        if !begun.isEmpty { return "; there are \(begun.joined(separator: ", ")): '\(filter)*' is all of them" }
        let near = Suggestion.text(for: filter, among: all.map(\.id) + suites + SubjectKind.allCases.map(\.rawValue))
        return near.isEmpty || filter.isEmpty ? "; the suites are \(suites.joined(separator: ", ")); --list shows the cases" : near
    }

    /// Returns true if the case matches; a kind of subject matches all its cases.
    private static func matches(_ testCase: TestCase, _ filter: String) -> Bool {
        CaseFilter.matches(testCase.id, filter) || testCase.subject.rawValue == filter
    }
}
