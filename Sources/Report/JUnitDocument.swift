import BBConformance

/// A JUnit XML document under construction, complete after each case, with one test suite per suite.
public struct JUnitDocument {
    private struct Entry {
        var id: String
        var element: String
        var milliseconds: Double
        var kind: Kind
    }

    private enum Kind {
        case passed, failed, error, skipped
    }

    private struct Suite {
        var name: String
        var started: String?
        var entries: [Entry] = []
    }

    private let properties: [String]
    private let run: RunResult
    private let facts: RunFacts
    private let hide: (String) -> String
    private var suites: [Suite] = []

    /// - Parameters:
    ///   - run: properties of the run; its cases are not added.
    ///   - hide: redacts secrets.
    public init(_ run: RunResult, about facts: RunFacts = RunFacts(), hiding hide: @escaping (String) -> String = { $0 }) {
        self.facts = facts
        self.hide = hide
        self.run = run
        properties = Self.properties(run, facts).map { hide(#"      <property name="\#($0.0)" value="\#(JUnit.escape($0.1))"/>"#) }
    }

    /// Adds a case, or replaces the one with the same id.
    public mutating func add(_ result: CaseResult) {
        let expected = run.isExpected(result) ? run.expectation(of: result)?.reason : nil
        let entry = Entry(
            id: result.id, element: hide(JUnit.element(result, expected: expected).joined(separator: "\n")),
            milliseconds: result.durationMilliseconds, kind: expected == nil ? Self.kind(result) : .skipped)
        let name = String(result.id.prefix { $0 != "/" })
        let (place, isThere) = Self.place(of: name, count: suites.count) { suites[$0].name }
        if !isThere { suites.insert(Suite(name: name), at: place) }
        let (index, isKnown) = Self.place(of: result.id, count: suites[place].entries.count) { suites[place].entries[$0].id }
        if isKnown { suites[place].entries[index] = entry } else { suites[place].entries.insert(entry, at: index) }
        if let started = result.started { suites[place].started = min(suites[place].started ?? started, started) }
    }

    public var text: String {
        var lines = [#"<?xml version="1.0" encoding="UTF-8"?>"#]
        lines.append(#"<testsuites name="bluebench" \#(Self.counts(suites.flatMap(\.entries), skipped: false))>"#)
        for suite in suites {
            lines.append(#"  <testsuite name="\#(JUnit.escape(suite.name))" \#(Self.counts(suite.entries))\#(origin(suite))>"#)
            lines.append("    <properties>")
            lines += properties
            lines.append("    </properties>")
            for entry in suite.entries { lines.append(entry.element) }
            lines.append("  </testsuite>")
        }
        lines.append("</testsuites>")
        return lines.joined(separator: "\n") + "\n"
    }

    private func origin(_ suite: Suite) -> String {
        // JUnit readers accept neither a zone nor fractions of a second.
        let date = suite.started.map { String($0.prefix { $0 != "." && $0 != "Z" }) } ?? facts.date
        return [("timestamp", date), ("hostname", facts.host)].filter { !$0.1.isEmpty }
            .map { #" \#($0.0)="\#(JUnit.escape($0.1))""# }.joined()
    }

    private static func properties(_ result: RunResult, _ facts: RunFacts) -> [(String, String)] {
        var rows = facts.version.isEmpty ? [] : [("bluebench", facts.version)]
        rows += [("seed", "\(result.seed)"), ("tester", result.tester), ("subject", result.subject)]
        if let product = result.product {
            let parts = [("name", product.name), ("address", product.address), ("firmware", product.firmware)]
            let rest = [("description", product.description), ("change", product.change)]
            rows += (parts + rest).compactMap { name, value in value.map { ("product.\(name)", $0) } }
        }
        rows += result.labels.sorted { $0.key < $1.key }.map { ("label.\(JUnit.escape($0.key))", $0.value) }
        if let shuffle = result.shuffle { rows.append(("shuffle", "\(shuffle)")) }
        if let shard = result.shard { rows.append(("shard", shard)) }
        if let ending = result.ending { rows.append(("ending", ending)) }
        for device in result.devices {
            rows.append(("\(device.side).device", device.line))
            rows += device.conduct.map { ("\(device.side).conduct", $0) }
            rows += device.losses.map { ("\(device.side).loss", $0.line) }
            if let race = device.race { rows.append(("\(device.side).race", race)) }
        }
        if let slack = result.slackMilliseconds { rows.append(("slack_ms", JUnit.decimal(slack, places: 0))) }
        return rows
    }

    private static func kind(_ result: CaseResult) -> Kind {
        if result.isNotRun { return .skipped }
        return switch result.verdict {
        case .pass: .passed
        case .fail: .failed
        case .notApplicable: .skipped
        case .inconclusive, .error: .error
        }
    }

    /// - Parameter skipped: add the number of skipped cases, which strict readers take in a suite only.
    private static func counts(_ entries: [Entry], skipped: Bool = true) -> String {
        func count(_ kind: Kind) -> Int { entries.count { $0.kind == kind } }
        let seconds = entries.reduce(0) { $0 + $1.milliseconds } / 1_000
        return #"tests="\#(entries.count)" failures="\#(count(.failed))" errors="\#(count(.error))""#
            + (skipped ? #" skipped="\#(count(.skipped))""# : "") + #" time="\#(JUnit.decimal(seconds))""#
    }

    /// Binary search for a name in a sorted list: its index, or the index to insert it at.
    private static func place(of name: String, count: Int, _ nameAt: (Int) -> String) -> (index: Int, isThere: Bool) {
        var (low, high) = (0, count)
        while low < high {
            let middle = (low + high) / 2
            if nameAt(middle) < name { low = middle + 1 } else { high = middle }
        }
        return (low, low < count && nameAt(low) == name)
    }
}
