import Conformance
import Foundation

/// `results.json` in the making: a whole document at any time, of the cases that have ended so far, for the cost of joining texts.
public struct ResultsDocument {
    private struct Entry {
        var result: CaseResult
        var text: String
    }

    private var run: RunResult
    private let facts: RunFacts
    private let hide: (String) -> String
    private var entries: [Entry] = []
    private var places: [String: Int] = [:]

    /// - Parameters:
    ///   - run: what the run is; its cases are not added.
    ///   - hide: takes away what is to be in no report.
    public init(_ run: RunResult, about facts: RunFacts = RunFacts(), hiding hide: @escaping (String) -> String = { $0 }) {
        (self.run, self.facts, self.hide) = (run, facts, hide)
        self.run.cases = []
    }

    /// Adds a case; one with the same id is replaced.
    public mutating func add(_ result: CaseResult) throws {
        let entry = Entry(result: result, text: Self.indented(hide(try ResultsJSON.encode(result))))
        if let place = places[result.id] {
            entries[place] = entry
        } else {
            places[result.id] = entries.count
            entries.append(entry)
        }
    }

    /// The same as `ResultsJSON.text` of a run with these cases.
    public func text() throws -> String {
        let frame = hide(try ResultsJSON.frame(of: run, entries.map(\.result), facts))
        // The keys are sorted, and this is the first.
        return "{\n  \"cases\" : [\n" + entries.map(\.text).joined(separator: ",\n") + "\n  ]," + frame.dropFirst()
    }

    /// Line feeds stand between fields only: those within texts are escaped. An empty list has an empty line.
    private static func indented(_ text: String) -> String {
        "    " + text.dropLast().replacing("\n", with: "\n    ").replacing("\n    \n", with: "\n\n")
    }
}
