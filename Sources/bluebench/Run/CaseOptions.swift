import ArgumentParser
import BBCases
import BBConformance
import BBSessions
import Foundation

/// The cases of a run, their order and their parameters.
struct CaseOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Your own folder of cases. Named suites and cases are looked up in it first, then in ours.", valueName: "folder"),
        completion: .directory)
    var cases = CaseFolder.standard
    @Option(help: ArgumentHelp("Only cases with this tag: usb. Repeatable.", valueName: "name"), completion: Completions.tags)
    var tag: [String] = []
    @Option(help: ArgumentHelp("Only cases that cover this public test-case id: SM/PER/JW/BV-02-C. Repeatable.", valueName: "id"))
    var covers: [String] = []
    @Flag(help: "List the selected cases and exit.") var list = false
    @Option(help: ArgumentHelp("Set a parameter: NAME=VALUE or SUITE/CASE.NAME=VALUE. Repeatable.", valueName: "name=value"))
    var set: [String] = []
    @Option(help: ArgumentHelp("Seed of every random choice.", valueName: "n"), transform: Arguments.seed) var seed: UInt64 = 1
    @Option(help: ArgumentHelp("Run the cases in a random order with this seed.", valueName: "seed"), transform: Arguments.seed)
    var shuffle: UInt64?
    @Option(help: ArgumentHelp("Run part i of n: 2/4.", valueName: "i/n"), transform: Self.shard) var shard: Shard?
    @Option(
        help: ArgumentHelp(
            "With --shard: results of an earlier run, whose durations balance the parts. Default: parts with equal numbers of cases.",
            valueName: "results", visibility: .hidden), completion: .file())
    var durations: String?
    @Option(
        defaultAsFlag: "",
        help: ArgumentHelp(
            "Run only what did not pass in these results: results.json or a report folder. Without a value: the folder of --report.",
            valueName: "results"), completion: .file())
    var lastFailed: String?

    private static let shard: @Sendable (String) throws -> Shard = { text in
        guard let shard = Shard(text) else { throw ValidationError("part i of n as i/n, with i from 1 to n: 2/4") }
        return shard
    }

    /// Rejects options without effect.
    func check(report: String?) throws {
        if Arguments.given("--durations"), shard == nil { throw CommandFailure(.usage, "--durations needs --shard") }
        if lastFailed == "", report == nil {
            throw CommandFailure(.usage, "--last-failed needs results: give it a file or a report folder, or give --report")
        }
    }

    /// Keeps the cases that cover one of the public ids.
    private func chooseCovering(_ plan: inout RunPlan) throws {
        guard !covers.isEmpty else { return }
        let known = Set(plan.cases.flatMap { $0.covers.map(\.id) })
        for id in covers where !known.contains(id) {
            let near = Suggestion.text(for: id, among: known)
            throw CommandFailure(.usage, "no case that would run covers \(id)\(near)")
        }
        plan.cases.removeAll { testCase in !testCase.covers.contains { covers.contains($0.id) } }
    }

    /// Removes the cases from the plan that are not to be run.
    ///
    /// - Returns: false if no cases remain because all have passed.
    func narrow(_ plan: inout RunPlan, _ filters: [String], _ tests: PublicSelection?, report: String?) throws -> Bool {
        plan.shard = shard?.description
        try chooseCovering(&plan)
        try tests?.choose(&plan)
        if let lastFailed {
            let file = try ResultsFile.read(lastFailed.isEmpty ? report ?? "" : lastFailed)
            let (path, before) = file.named
            let wanted = Set(before.cases.filter { $0.verdict != .pass && $0.verdict != .notApplicable }.map(\.id))
            guard !wanted.isEmpty else {
                guard !before.isInterrupted, !before.cases.isEmpty else {
                    throw CommandFailure(
                        .bench, "no case in \(path) failed, but its run did not reach its end: \(before.ending ?? "--resume continues it")")
                }
                Console.line("everything in \(path) has passed")
                return false
            }
            plan.cases.removeAll { !wanted.contains($0.id) }
            guard !plan.cases.isEmpty else {
                throw CommandFailure(.usage, "no selected case failed in \(path); \(wanted.sorted()[0]) did")
            }
        }
        guard let shard else { return true }
        var known: [String: Double] = [:]
        if let durations {
            for result in try ResultsFile.read(durations).result.cases where !result.isNotRun {
                known[result.id] = result.durationMilliseconds
            }
        }
        if let durations, !plan.cases.contains(where: { known[$0.id] != nil }) {
            Console.complain("--durations \(durations) has none of the selected cases: the shards get equal numbers of cases instead")
        }
        let ids = plan.cases.map(\.id)
        plan.selection = RunSelection(filters: filters, ids: ids, parameters: set, durations: known)
        let part = shard.part(of: ids, durations: known)
        plan.cases.removeAll { !part.contains($0.id) }
        guard !plan.cases.isEmpty else { throw CommandFailure(.usage, "--shard \(shard) has no case: there are fewer cases than parts") }
        return true
    }
}
