import ArgumentParser
import BBCapture
import BBHistory
import BBPackets
import BBReport
import BBSessions
import Foundation

/// `bluebench compare`: reports regressions.
struct CompareCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "compare", abstract: "Compare two files of results: figures of throughput, or verdicts.",
        discussion: """
            BASE and NEW are files that `bluebench throughput --json` or `bluebench run --json` has written, or report folders. A change of a figure counts if it \
            exceeds a threshold and the noise of the repetitions (--repeat). Exit code 1: a regression, a row or a case that fails now, or one that is \
            missing; 2: the files cannot be compared; 3: only drops that the machine's delays can explain.
            """)

    @Argument(help: "Earlier results.", completion: .file()) var base: String
    @Argument(help: "New results.", completion: .file()) var new: String
    @Option(help: ArgumentHelp("Report figures that fell by this much.", valueName: "percent")) var warn = 1.5
    @Option(help: ArgumentHelp("Exit code 1 for figures that fell by this much.", valueName: "percent")) var fail = 2.5
    @Option(
        help: ArgumentHelp(
            "Own limit for rows whose name contains a text: coded-s8=5 or 'notify from-subject 2m=1'. Repeatable.",
            valueName: "text=percent"))
    var row: [String] = []
    @Flag(help: "Compare although tester, subject, dongles or settings differ.") var unlike = false
    @Flag(help: "Accept rows and cases that are missing in the new results.") var allowVanished = false
    @Flag(help: "Also show what has not changed.") var all = false
    @Option(help: ArgumentHelp("Write the table as Markdown.", valueName: "file"), completion: .file()) var markdown: String?
    @Option(help: ArgumentHelp("Write the findings as JSON.", valueName: "file"), completion: .file()) var json: String?

    func validate() throws {
        guard warn >= 0, fail >= 0, warn <= fail else { throw ValidationError("--warn must be at most --fail, and both at least 0") }
        _ = try limits()
    }

    /// Returns the limits by text in a row's name; the last matching limit applies.
    private func limits() throws -> [(text: String, percent: Double)] {
        try row.map { option in
            guard let sign = option.lastIndex(of: "="), sign > option.startIndex,
                let percent = Double(option[option.index(after: sign)...].replacing("%", with: "")), percent >= 0
            else { throw ValidationError("--row \(option): write TEXT=PERCENT, coded-s8=5") }
            return (String(option[..<sign]), percent)
        }
    }

    func run() throws {
        let outputs = (markdown: try markdown.map { try OutputFile($0) }, json: try json.map { try OutputFile($0) })
        for path in [base, new] where Self.isCapture(path) {
            throw CommandFailure(
                .usage, "compare needs results, and \(path) is a capture: use `bluebench show A --diff B`")
        }
        let (before, now) = (try Self.results(base), try Self.results(new))
        let findings: (table: ComparisonTable, hasFailed: Bool, rows: [Finding])
        switch (Self.isOfThroughput(before), Self.isOfThroughput(now)) {
        case (true, true): findings = try figures(before, now)
        case (false, false): findings = try verdicts(before, now)
        default: throw CommandFailure(.usage, "\(base) and \(new) cannot be compared: one has throughput figures, the other verdicts")
        }
        Console.line(findings.table.text)
        try outputs.markdown?.write(findings.table.markdown)
        try outputs.json?.write(ResultsJSON.encode(Findings(hasFailed: findings.hasFailed, rows: findings.rows)))
        if findings.hasFailed { throw ExitCode.fail }
        if findings.rows.contains(where: { $0.finding == ThroughputComparison.Finding.inconclusive.rawValue }) { throw ExitCode.bench }
    }

    private func figures(_ before: Data, _ now: Data) throws -> (ComparisonTable, Bool, [Finding]) {
        let (old, new): (ThroughputResults, ThroughputResults)
        do {
            old = try ThroughputResults(json: before, name: base)
            new = try ThroughputResults(json: now, name: self.new)
        } catch { throw CommandFailure(.usage, "\(error)") }
        try refuse((new.setup ?? .init()).differences(from: old.setup ?? .init()), "measured")
        let (limits, warn, fail) = (try limits(), warn, fail)
        let comparison = ThroughputComparison(old, new) { name in
            guard let own = limits.last(where: { name.contains($0.text) }) else { return .init(warn: warn, fail: fail) }
            return .init(warn: min(warn, own.percent), fail: own.percent)
        }
        for limit in limits where !comparison.rows.contains(where: { $0.name.contains(limit.text) }) {
            Console.complain("--row \(limit.text): no row has this text in its name")
        }
        let rows = comparison.rows.map {
            Finding(
                name: $0.name, finding: $0.finding.rawValue, base: $0.base, now: $0.now, change: $0.change, band: $0.band, reason: $0.reason
            )
        }
        try refuseUnrelated(comparison.rows.contains { ![.new, .vanished].contains($0.finding) }, "row")
        let hasFailed = comparison.rows.contains {
            [.regression, .broken].contains($0.finding) || ($0.finding == .vanished && !allowVanished)
        }
        return (comparison.table(all: all), hasFailed, rows)
    }

    private func verdicts(_ before: Data, _ now: Data) throws -> (ComparisonTable, Bool, [Finding]) {
        let (old, new): (VerdictResults, VerdictResults)
        do {
            old = try VerdictResults(json: before, name: base)
            new = try VerdictResults(json: now, name: self.new)
        } catch { throw CommandFailure(.usage, "\(error)") }
        let (then, now) = (old.run ?? .init(), new.run ?? .init())
        try refuse(now.differences(from: then), "run")
        for change in now.changes(since: then) { Console.line(PlainText.escaped(change)) }
        let comparison = VerdictComparison(old, new)
        let rows = comparison.rows.map {
            Finding(name: $0.id, finding: $0.finding.rawValue, before: $0.base, after: $0.now, reason: $0.message)
        }
        try refuseUnrelated(comparison.rows.contains { ![.new, .vanished].contains($0.finding) }, "case")
        let hasFailed = comparison.rows.contains { $0.finding == .newlyFailing || ($0.finding == .vanished && !allowVanished) }
        return (comparison.table(all: all), hasFailed, rows)
    }

    private func refuseUnrelated(_ areRelated: Bool, _ what: String) throws {
        guard !areRelated else { return }
        throw CommandFailure(.usage, "\(base) and \(new) have no \(what) in common: nothing was compared")
    }

    private func refuse(_ differences: [String], _ done: String) throws {
        guard unlike || differences.isEmpty else {
            throw CommandFailure(
                .usage,
                "the two were \(done) with different settings (--unlike compares them nevertheless): \(differences.joined(separator: "; "))"
            )
        }
    }

    /// Reads the results; of a report folder the same file as `merge`, including the journal of a killed run.
    private static func results(_ path: String) throws -> Data {
        var isFolder: ObjCBool = false
        guard FileManager.default.fileExists(atPath: path, isDirectory: &isFolder), isFolder.boolValue else {
            return try InputFile.data(path)
        }
        let found = try ResultsFile.read(path)
        return Data(try ResultsJSON.text(found.result, about: found.facts).utf8)
    }

    /// True for a regular file whose first record is a packet.
    private static func isCapture(_ path: String) -> Bool {
        guard (try? FileKind(path))?.isRegular == true, let reader = try? CaptureReader(path: path) else { return false }
        return (try? reader.next()) != nil
    }

    private static func isOfThroughput(_ data: Data) -> Bool {
        struct Kind: Decodable {
            struct Anything: Decodable { init(from decoder: any Decoder) {} }
            var rows: [Anything]?
        }
        return (try? JSONDecoder().decode(Kind.self, from: data))?.rows != nil
    }
}

/// A row of `compare --json`.
private struct Finding: Encodable {
    var name: String
    var finding: String
    /// Figures in kbit/s, and the change in percent.
    var base: Double?
    var now: Double?
    var change: Double?
    var band: Double?
    /// The verdicts.
    var before: String?
    var after: String?
    var reason: String?
}

private struct Findings: Encodable {
    var hasFailed: Bool
    var rows: [Finding]

    enum CodingKeys: String, CodingKey {
        case rows
        case hasFailed = "failed"
    }
}
