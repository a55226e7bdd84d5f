import ArgumentParser
import BBHistory
import BBSessions
import BBThroughput
import Foundation

/// `--baseline FILE --at-least 95%`: compares each row with the same row of the file.
struct BaselineGate {
    private let path: String
    private let base: ThroughputResults
    private let share: Double

    /// Returns nil without a baseline.
    ///
    /// - Throws: a usage error for a file without results, before the measurement.
    init?(_ path: String?, atLeast: String?) throws {
        guard let path else {
            if Arguments.given("--at-least") { throw CommandFailure(.usage, "--at-least needs --baseline") }
            return nil
        }
        let text = atLeast ?? "95%"
        guard let share = Double(text.replacing("%", with: "")), share > 0, share <= 1_000 else {
            throw CommandFailure(.usage, "--at-least \(text): write a percentage, 95%")
        }
        self.path = path
        self.share = share
        let data = try InputFile.data(path)
        do { base = try ThroughputResults(json: data, name: path) } catch { throw CommandFailure(.usage, "\(error)") }
    }

    /// Compares the set-up and the names of the rows before the first measurement. Real controllers are unknown then.
    ///
    /// - Throws: a usage error if `check` could only refuse.
    func expect(_ plan: SweepPlan, _ setup: ThroughputSetup) throws {
        var setup = setup
        (setup.testerController, setup.subjectController) = (base.setup?.testerController, base.setup?.subjectController)
        try compare(setup)
        // Concurrent flows have rows for each link and for the sum.
        guard !plan.isTogether else { return }
        var report = ThroughputReport()
        report.rows = plan.rows.map { ThroughputRow($0) }
        let rows = zip(try ThroughputResults(json: report.json(), name: "these rows").rows, plan.rows).map { row, request in
            var row = row
            row.isEncrypted = request.isEncrypted
            return row.name
        }
        let known = Set(base.rows.map(\.name))
        guard rows.contains(where: known.contains) else { throw CommandFailure(.usage, "--baseline \(path) has none of the measured rows") }
    }

    private func compare(_ setup: ThroughputSetup) throws {
        let differences = setup.differences(from: base.setup ?? ThroughputSetup())
        guard differences.isEmpty else {
            throw CommandFailure(.usage, "--baseline \(path) was measured with other settings: \(differences.joined(separator: "; "))")
        }
    }

    /// Compares the rows with the baseline.
    ///
    /// - Throws: a failure that names the rows below the limit, or reports that no row could be compared.
    func check(_ report: ThroughputReport) throws {
        let now = try ThroughputResults(json: report.json(), name: "these figures")
        try compare(now.setup ?? ThroughputSetup())
        let figures = Dictionary(base.rows.filter { $0.failure == nil }.map { ($0.name, $0.figures.median) }) { first, _ in first }
        let compared = now.rows.compactMap { row in figures[row.name].map { (row.name, row.figures.median, $0) } }
        guard !compared.isEmpty else { throw CommandFailure(.usage, "--baseline \(path) has none of the measured rows") }
        for row in now.rows where figures[row.name] == nil { Console.complain("not compared, because \(path) lacks the row: \(row.name)") }
        let short = compared.filter { $0.1 < $0.2 * share / 100 }
        for (name, figure, before) in short {
            Console.line(String(format: "below: %@: %.1f kbit/s, %.1f %% of %.1f", name, figure, figure / before * 100, before))
        }
        guard short.isEmpty else { throw CommandFailure(.fail, "\(short.count) of \(compared.count) rows are below \(share) % of \(path)") }
        Console.line("\(compared.count) rows have at least \(share) % of \(path)")
    }
}
