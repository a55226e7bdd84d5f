import BBCases
import BBConformance
import BBSessions
import Foundation

/// The public test-case ids that a product's implementation conformance statement (ICS) makes applicable.
struct DeclaredIDs {
    private let path: String
    private let ids: Set<String>

    /// Reads one id from each line; lines that begin with `#` are comments.
    init(_ path: String) throws {
        self.path = path
        guard let data = FileManager.default.contents(atPath: path) else { throw CommandFailure(.usage, "cannot read \(path)") }
        let lines = String(decoding: data, as: UTF8.self).split(whereSeparator: \.isNewline)
        ids = Set(lines.map { $0.filter { $0 != " " } }.filter { !$0.isEmpty && !$0.hasPrefix("#") })
        guard !ids.isEmpty else { throw CommandFailure(.usage, "\(path) names no public test-case id, one in a line: SM/PER/JW/BV-02-C") }
    }

    /// Keeps the cases that cover a declared id.
    func choose(_ plan: inout RunPlan) throws {
        plan.cases.removeAll { testCase in !testCase.covers.contains { ids.contains($0.id) } }
        guard !plan.cases.isEmpty else { throw CommandFailure(.usage, "no case that would run covers an id of \(path)") }
    }

    /// Describes what the cases of a plan cover, and names the ids without a case.
    func coverage(of plan: RunPlan) -> [String] {
        let covers = plan.cases.flatMap(\.covers).filter { ids.contains($0.id) }
        let covered = Set(covers.map(\.id))
        let full = Set(covers.filter(\.isFull).map(\.id))
        let missing = ids.subtracting(covered).sorted()
        let summary = "\(path): \(covered.count) of \(Console.count(ids.count, "id")) covered, \(full.count) in full"
        return [summary] + missing.map { "no case for \($0)" }
    }
}
