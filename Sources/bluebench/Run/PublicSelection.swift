import BBCases
import BBConformance
import BBReport
import BBSessions

/// The public test cases of a run, and what the conformance statement of --ics says about them.
struct PublicSelection {
    let tests: PublicTests
    private let items: PublicTestItems
    private let path: String
    /// The declaration of the subject's maker; nil without a conformance statement.
    let declared: DeclaredItems?
    private let statement: ConformanceStatement?

    /// - Parameters:
    ///   - folder: the folder of cases, whose tables are read beside the built-in ones.
    ///   - ics: the file of the conformance statement; nil for none.
    init(folder: String, ics: String? = nil) throws {
        (tests, items) = try CaseFolder.knownPublicTests(folder)
        path = ics ?? ""
        do {
            let statement = try ics.map { path throws(Problems) in try ConformanceStatement.load(path) }
            declared = try statement.map { statement throws(Problems) in
                DeclaredItems(statement, try DeclaredMasks.load(CaseFolder.standard))
            }
            self.statement = statement
        } catch {
            throw CommandFailure(error)
        }
    }

    func report(of result: RunResult) -> PublicReport {
        guard let statement else { return PublicReport(tests, result) }
        return PublicReport(tests, result, statement: path) { statement.applicability(of: $0, items) }
    }

    /// Keeps the cases that cover a public test case, and with a list of ids one of these. Cases for what the statement rules out run, too,
    /// so that a device that passes them is found.
    func choose(_ plan: inout RunPlan) throws {
        guard let statement else { return }
        plan.cases.removeAll { testCase in
            testCase.covers.isEmpty || statement.items.isEmpty && !testCase.covers.contains { statement.ids.contains($0.id) }
        }
        guard !plan.cases.isEmpty else { throw CommandFailure(.usage, "no case that would run covers an id of \(path)") }
        for line in summary(of: plan, statement) { Console.line(line) }
    }

    /// Describes what the cases of a plan cover, and names the ids of a list that have no case.
    private func summary(of plan: RunPlan, _ statement: ConformanceStatement) -> [String] {
        let covers = plan.cases.flatMap(\.covers)
        let known = statement.items.isEmpty ? Array(statement.ids) : tests.ids + statement.ids.filter { tests[$0] == nil }
        let applying = Set(known.filter { statement.applicability(of: $0, items) == .applies })
        let covered = applying.intersection(covers.map(\.id))
        let full = covered.intersection(covers.filter(\.isFull).map(\.id))
        let line = "\(path): \(covered.count) of \(Console.count(applying.count, "id")) covered, \(full.count) in full"
        guard !statement.items.isEmpty else { return [line] + applying.subtracting(covered).sorted().map { "no case for \($0)" } }
        let open = tests.ids.count { if case .open = statement.applicability(of: $0, items) { true } else { false } }
        return [line + "; the statement rules out \(tests.ids.count - applying.count - open) and leaves \(open) open"]
    }

    /// Makes a case N/A if the statement rules out all that it covers, unless it passes.
    func judge(_ result: inout CaseResult) {
        guard let statement else { return }
        let answers = (result.covers + result.partialCovers).map { statement.applicability(of: $0, items) }
        let reasons = answers.compactMap { answer -> String? in if case .denied(let items) = answer { items } else { nil } }
        guard let reason = reasons.first, reasons.count == answers.count, !result.isNotRun else { return }
        switch result.verdict {
        case .pass: result.notes.append("the conformance statement rules this case out (\(reason)), and the device passes it")
        case .notApplicable: result.message = "\(reason) in the conformance statement"
        case .fail, .inconclusive, .error:
            result.message = "\(reason) in the conformance statement; the case ended with \(result.verdict.rawValue): \(result.message)"
            result.verdict = .notApplicable
        }
    }
}
