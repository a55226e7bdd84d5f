import Conformance
import Foundation
import Report
import Transport

/// What can be read of a run while it goes on, and after somebody has killed it: JUnit that is whole after each case.
struct LiveReport {
    private var document: JUnitDocument
    private let files: [OutputFile]

    /// - Parameter known: results of the run that is continued.
    init(_ files: ReportOptions.Files, _ run: RunResult, about facts: RunFacts, hiding secrets: Secrets?, known: [CaseResult]) {
        self.files = files.junit.filter(\.isReplaceable)
        document = JUnitDocument(run, about: facts) { secrets?.hide($0) ?? $0 }
        for result in known { document.add(result) }
    }

    /// - Throws: the first failure of writing; the other files are written all the same.
    func begin() throws { try write() }

    mutating func add(_ result: CaseResult) throws {
        guard !files.isEmpty else { return }
        document.add(result)
        try write()
    }

    private func write() throws {
        guard !files.isEmpty else { return }
        let data = Data(document.text.utf8)
        var failure: (any Error)?
        for file in files {
            do { try file.write(data) } catch { failure = failure ?? error }
        }
        if let failure { throw failure }
    }
}
