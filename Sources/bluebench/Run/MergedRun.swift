import BBConformance
import BBReport
import BBSessions
import Foundation

/// Several runs combined into one.
struct MergedRun {
    private struct Source {
        var folder: String
        var index: Int
    }

    private(set) var facts = RunFacts()
    private var first: RunResult?
    private var cases: [String: CaseResult] = [:]
    private var sources: [String: Source] = [:]
    private var killed: [(path: String, cases: Set<String>)] = []
    private var ended: [Set<String>] = []
    private var shards = MergedShards()
    private let allowsMissingShards: Bool

    init(allowsMissingShards: Bool) { self.allowsMissingShards = allowsMissingShards }

    /// Adds the results of one run.
    ///
    /// - Throws: a usage error for runs that do not belong together: different seeds, or two verdicts for a case.
    mutating func add(_ part: ResultsFile, at index: Int, isNewer: Bool) throws {
        if let first, first.seed != part.result.seed {
            throw CommandFailure(
                .usage, "\(part.path) has seed \(part.result.seed), the others seed \(first.seed): not parts of one run")
        }
        if let one = first?.product, let other = part.result.product, one.identity != other.identity {
            throw CommandFailure(.usage, "\(part.path) is from \(other.line), the others from \(one.line): not parts of one run")
        }
        try shards.add(part)
        take(part.facts)
        take(part.result)
        let ids = Set(part.result.cases.map(\.id))
        if part.wasKilled { killed.append((part.path, ids)) } else { ended.append(ids) }
        for result in part.result.cases {
            if let old = cases[result.id] {
                if result.isNotRun { continue }
                if old.isFinal, !isNewer {
                    guard result.isFinal else { continue }
                    throw CommandFailure(
                        .usage,
                        "\(result.id) is \(old.verdict.rawValue) in one run and \(result.verdict.rawValue) in \(part.path): "
                            + "with --again the later one counts")
                }
            }
            cases[result.id] = result
            sources[result.id] = Source(folder: part.folder, index: index + 1)
        }
    }

    private mutating func take(_ part: RunFacts) {
        facts.date = [facts.date, part.date].filter { !$0.isEmpty }.min() ?? ""
        facts.host = Self.list(facts.host, part.host)
        facts.version = Self.list(facts.version, part.version)
    }

    private mutating func take(_ run: RunResult) {
        guard var all = first else {
            first = run
            first?.cases = []
            return
        }
        all.tester = Self.list(all.tester, run.tester)
        all.subject = Self.list(all.subject, run.subject)
        for device in run.devices where !all.devices.contains(where: { $0.device == device.device && $0.side == device.side }) {
            all.devices.append(device)
        }
        all.product = all.product ?? run.product
        all.failsOnFlaky = all.failsOnFlaky || run.failsOnFlaky
        for expected in run.expectedFailures where !all.expectedFailures.contains(where: { $0.id == expected.id }) {
            all.expectedFailures.append(expected)
        }
        all.labels.merge(run.labels) { $1 }
        if all.shuffle != run.shuffle { all.shuffle = nil }
        all.slackMilliseconds = all.slackMilliseconds ?? run.slackMilliseconds
        all.usb = nil
        first = all
    }

    private static func list(_ known: String, _ other: String) -> String {
        if known.isEmpty || other.isEmpty { return known + other }
        return known.components(separatedBy: ", ").contains(other) ? known : known + ", " + other
    }

    /// The runs that were killed and not completed by another; their remaining cases are unknown.
    var unfinished: [String] {
        killed.filter { part in !ended.contains { $0.isSuperset(of: part.cases) } }.map(\.path)
    }

    /// The combined run, with the cases in the order of their names.
    var run: RunResult {
        var run = first ?? RunResult(seed: 1, tester: "", subject: "")
        run.cases = cases.values.sorted { $0.id < $1.id }
        run.shard = missingShards == nil ? nil : shards.found?.description
        run.selection = missingShards == nil ? nil : shards.selection
        // With a killed run, the results are still those of a killed one when they are merged again.
        run.missingShards = missingShards == nil || !unfinished.isEmpty ? [] : shards.found?.missing ?? []
        let gap = run.cases.first(where: \.isNotRun)?.message ?? unfinished.first.map { "the run of \($0) was killed" }
        let reasons = [missingShards, gap].compactMap(\.self)
        run.ending = reasons.isEmpty ? nil : reasons.joined(separator: "; ")
        run.isInterrupted = gap != nil || missingShards != nil && !allowsMissingShards
        return run
    }

    /// The shards that no run has, in words; nil if none is missing.
    var missingShards: String? { shards.lack }

    private static func isSame(_ one: String, _ other: String) -> Bool {
        URL(fileURLWithPath: one).resolvingSymlinksInPath().path == URL(fileURLWithPath: other).resolvingSymlinksInPath().path
    }

    private static func isFileOrMissing(_ path: String) -> Bool {
        var found = stat()
        return lstat(path, &found) != 0 || found.st_mode & S_IFMT == S_IFREG
    }

    /// Copies the captures of the evidence beside the merged results, with the number of their run as a prefix, and updates the results.
    /// Captures that are already in the folder remain.
    mutating func bringCaptures(into folder: String?) throws {
        var brought: Set<String> = []
        for (id, result) in cases {
            guard let capture = result.capture, let source = sources[id] else { continue }
            let name = capture.split(separator: "/").last.map(String.init) ?? ""
            let (origin, own) = ("\(source.folder)/\(name)", "\(source.index)-\(name)")
            // The results may be others': their captures are files beside them, neither folders nor links to something else.
            guard !["", ".", ".."].contains(name), Self.isFileOrMissing(origin) else {
                cases[id]?.capture = nil
                continue
            }
            guard FileManager.default.fileExists(atPath: origin), folder.map({ !Self.isSame($0, source.folder) }) ?? true else { continue }
            cases[id]?.capture = folder == nil ? origin : own
            guard let folder, brought.insert(own).inserted else { continue }
            let target = "\(folder)/\(own)"
            unlink(target)
            // A hard link is tried first; it is impossible on another file system.
            guard link(origin, target) != 0 else { continue }
            do { try FileManager.default.copyItem(atPath: origin, toPath: target) } catch {
                throw CommandFailure(.bench, "cannot copy \(origin) to \(target): \(systemReason(error))")
            }
        }
    }
}
