import BBConformance
import BBPackets
import BBReport
import BBSessions
import BBTiming
import BBTransport
import Foundation

/// The results that can be read during a run or after it was killed: JUnit, which is complete after each case, and `results.json`.
struct LiveReport {
    private var junit: JUnitDocument
    private var results: ResultsDocument
    private let files: (junit: [OutputFile], json: [OutputFile])
    private var pace = Pace()

    /// - Parameter known: the results of the continued run.
    init(_ files: ReportOptions.Files, _ run: RunResult, about facts: RunFacts, hiding secrets: Secrets?, known: [CaseResult]) throws {
        self.files = (files.junit.filter(\.isReplaceable), files.json.filter(\.isReplaceable))
        func hide(_ text: String) -> String { secrets?.hide(text) ?? text }
        junit = JUnitDocument(run, about: facts, hiding: hide)
        var unfinished = run
        (unfinished.isInterrupted, unfinished.ending) = (true, "the run goes on, or was killed")
        results = ResultsDocument(unfinished, about: facts, hiding: hide)
        for result in known {
            junit.add(result)
            try results.add(result)
        }
    }

    /// - Throws: the first write failure; the other files are still written.
    mutating func begin() throws { try write() }

    mutating func add(_ result: CaseResult) throws {
        if !files.junit.isEmpty { junit.add(result) }
        if !files.json.isEmpty { try results.add(result) }
        try write()
    }

    private mutating func write() throws {
        var failure: (any Error)?
        func write(_ files: [OutputFile], _ text: () throws -> String) {
            guard !files.isEmpty else { return }
            do {
                let data = Data(try text().utf8)
                for file in files {
                    do { try file.write(data) } catch { failure = failure ?? error }
                }
            } catch { failure = failure ?? error }
        }
        write(files.junit) { junit.text }
        let (json, results) = (files.json, results)
        pace.spend { write(json, results.text) }
        if let failure { throw failure }
    }
}

/// Limits a repeated operation to 5% of the time.
private struct Pace {
    private var next = MonotonicClock.now()

    mutating func spend(_ body: () -> Void) {
        let began = MonotonicClock.now()
        guard began >= next else { return }
        body()
        let ended = MonotonicClock.now()
        next = ended + (ended - began) * 19
    }
}
