import BBConformance
import Foundation

/// `results.json` under construction: a complete document of the cases so far at any time, at the cost of joining texts.
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
    ///   - run: properties of the run; its cases are not added.
    ///   - hide: redacts secrets.
    public init(_ run: RunResult, about facts: RunFacts = RunFacts(), hiding hide: @escaping (String) -> String = { $0 }) {
        (self.run, self.facts, self.hide) = (run, facts, hide)
        self.run.cases = []
    }

    /// Adds a case, or replaces the one with the same id.
    public mutating func add(_ result: CaseResult) throws {
        let entry = Entry(result: result, text: Self.indented(hide(try ResultsJSON.encode(result))))
        if let place = places[result.id] {
            entries[place] = entry
        } else {
            places[result.id] = entries.count
            entries.append(entry)
        }
    }

    /// The same text as `ResultsJSON.text` of a run with these cases.
    public func text() throws -> String {
        let frame = hide(try ResultsJSON.frame(of: run, entries.map(\.result), facts))
        // Keys are sorted, and this is the first.
        return "{\n  \"cases\" : [\n" + entries.map(\.text).joined(separator: ",\n") + "\n  ]," + frame.dropFirst()
    }

    /// Indents a JSON text. Line feeds occur only between fields, since those in strings are escaped. An empty list has an empty line.
    private static func indented(_ text: String) -> String {
        "    " + text.dropLast().replacing("\n", with: "\n    ").replacing("\n    \n", with: "\n\n")
    }
}
