import BBConformance

/// A run as JUnit XML, with one test suite per suite.
public enum JUnit {
    public static func text(_ result: RunResult, about run: RunFacts = RunFacts()) -> String {
        var document = JUnitDocument(result, about: run)
        for testCase in result.cases { document.add(testCase) }
        return document.text
    }

    /// - Parameter expected: the reason why the user expects the case to fail; nil if not.
    static func element(_ result: CaseResult, expected: String? = nil) -> [String] {
        let name = result.id.split(separator: "/").dropFirst().joined(separator: "/")
        let suite = String(result.id.prefix { $0 != "/" })
        let head =
            #"    <testcase classname="\#(escape(suite))" name="\#(escape(name))" time="\#(decimal(result.durationMilliseconds / 1_000))""#
        let inside = (expected.map { expectedFailure(of: result, $0) } ?? outcome(of: result)) + about(result)
        return inside.isEmpty ? [head + "/>"] : [head + ">"] + inside + ["    </testcase>"]
    }

    /// Ids, tags, start, packets: as text, because strict readers take no properties of a case.
    private static func about(_ result: CaseResult) -> [String] {
        var rows = (result.covers + result.partialCovers.map { "\($0) (part)" }).map { ("covers", $0) }
        rows += result.about.tags.map { ("tag", $0) }
        if let started = result.started { rows.append(("started", started)) }
        if let range = result.packetRange, let capture = result.capture {
            rows.append(("packets", "\(range.first) to \(range.last) of \(capture)"))
        }
        if result.isFlaky { rows.append(("flaky", "true")) }
        guard !rows.isEmpty else { return [] }
        return ["      <system-out>" + rows.map { "\($0.0): \(escape($0.1))" }.joined(separator: "\n") + "</system-out>"]
    }

    private static func expectedFailure(of result: CaseResult, _ reason: String) -> [String] {
        [#"      <skipped message="\#(escape("expected failure: \(reason); \(result.message)"))"/>"#]
    }

    private static func outcome(of result: CaseResult) -> [String] {
        let message = escape(result.message)
        let body = escape(story(of: result))
        if result.isNotRun { return [#"      <skipped message="not run: \#(message)"/>"#] }
        switch result.verdict {
        case .pass: return others(of: result, as: "flakyFailure")
        case .notApplicable: return [#"      <skipped message="\#(message)"/>"#]
        case .fail:
            return [#"      <failure type="FAIL" message="\#(message)">\#(body)</failure>"#] + others(of: result, as: "rerunFailure")
        case .inconclusive, .error:
            return [#"      <error type="\#(result.verdict.rawValue)" message="\#(message)">\#(body)</error>"#]
                + others(of: result, as: "rerunError")
        }
    }

    /// Failed attempts other than the decisive one.
    private static func others(of result: CaseResult, as element: String) -> [String] {
        result.attempts.filter { $0.verdict != .pass }.map { attempt in
            let body = escape(attempt.evidence.map { "packet \($0.packet) (\($0.side)): \($0.text)" }.joined(separator: "\n"))
            let type = attempt.verdict.rawValue
            return #"      <\#(element) type="\#(type)" message="\#(escape(attempt.message))">\#(body)</\#(element)>"#
        }
    }

    /// Title, place, result of exchanging the dongles, and evidence.
    private static func story(of result: CaseResult) -> String {
        let title = result.title.isEmpty ? [] : [result.title]
        let file = result.capture.map { " of \($0)" } ?? ""
        let evidence = result.evidence.map { "packet \($0.packet)\(file) (\($0.side)): \($0.text)" }
        let place = result.failedStep.map { ["at \($0.position): \($0.step)"] } ?? []
        let commands = result.commands.map { ([$0.line] + $0.output.split(separator: "\n").map { "  \($0)" }).joined(separator: "\n") }
        let log = (result.log?.lines.suffix(40) ?? []).map { "log at \(decimal($0.milliseconds)) ms: \($0.text)" }
        return (title + place + (result.swap.map { [$0.line] } ?? []) + evidence + commands + log).joined(separator: "\n")
    }

    static func suites(of cases: [CaseResult]) -> [(name: String, cases: [CaseResult])] {
        var suites: [(name: String, cases: [CaseResult])] = []
        for result in cases.sorted(by: { $0.id < $1.id }) {
            let name = String(result.id.prefix { $0 != "/" })
            if suites.last?.name == name { suites[suites.count - 1].cases.append(result) } else { suites.append((name, [result])) }
        }
        return suites
    }

    static func decimal(_ value: Double, places: Int = 3) -> String {
        var scale = 1.0
        for _ in 0..<places { scale *= 10 }
        let scaled = (value * scale).rounded()
        guard scaled.isFinite, abs(scaled) < 1e15 else { return "0" }
        let whole = Int(scaled)
        let digits = String(abs(whole % Int(scale)))
        let sign = whole < 0 ? "-" : ""
        guard places > 0 else { return "\(whole)" }
        return sign + "\(abs(whole) / Int(scale))." + String(repeating: "0", count: places - digits.count) + digits
    }

    /// Escapes text for XML 1.0: markup is escaped; characters that XML forbids or that change the writing direction are replaced.
    static func escape(_ text: String) -> String {
        var escaped = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": escaped += "&amp;"
            case "<": escaped += "&lt;"
            case ">": escaped += "&gt;"
            case "\"": escaped += "&quot;"
            case "\n": escaped += "&#10;"
            case "\t": escaped += " "
            case "\u{0}"..."\u{1F}", "\u{7F}"..."\u{9F}", "\u{200E}", "\u{200F}", "\u{202A}"..."\u{202E}", "\u{2066}"..."\u{2069}",
                "\u{FFFE}",
                "\u{FFFF}":
                escaped += "\u{FFFD}"
            default: escaped.unicodeScalars.append(scalar)
            }
        }
        return escaped
    }
}
