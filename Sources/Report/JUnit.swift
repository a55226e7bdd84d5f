import Conformance

/// A run as JUnit XML, one test suite for each of its suites.
public enum JUnit {
    public static func text(_ result: RunResult, about run: RunFacts = RunFacts()) -> String {
        let origin = [("timestamp", run.date), ("hostname", run.host)].filter { !$0.1.isEmpty }
            .map { #" \#($0.0)="\#(escape($0.1))""# }.joined()
        var lines = [#"<?xml version="1.0" encoding="UTF-8"?>"#]
        let seconds = result.cases.reduce(0) { $0 + $1.durationMilliseconds } / 1_000
        lines.append(#"<testsuites name="bluebench" \#(counts(result.cases)) time="\#(decimal(seconds))">"#)
        for suite in suites(of: result.cases) {
            let time = suite.cases.reduce(0) { $0 + $1.durationMilliseconds } / 1_000
            lines.append(#"  <testsuite name="\#(escape(suite.name))" \#(counts(suite.cases)) time="\#(decimal(time))"\#(origin)>"#)
            lines.append("    <properties>")
            if !run.version.isEmpty { lines.append(#"      <property name="bluebench" value="\#(escape(run.version))"/>"#) }
            lines.append(#"      <property name="seed" value="\#(result.seed)"/>"#)
            lines.append(#"      <property name="tester" value="\#(escape(result.tester))"/>"#)
            lines.append(#"      <property name="subject" value="\#(escape(result.subject))"/>"#)
            for device in result.devices {
                lines.append(#"      <property name="\#(device.side).device" value="\#(escape(device.line))"/>"#)
                for text in device.conduct { lines.append(#"      <property name="\#(device.side).conduct" value="\#(escape(text))"/>"#) }
                for loss in device.losses {
                    lines.append(#"      <property name="\#(device.side).loss" value="\#(escape(loss.line))"/>"#)
                }
                if let race = device.race { lines.append(#"      <property name="\#(device.side).race" value="\#(escape(race))"/>"#) }
            }
            if let slack = result.slackMilliseconds {
                lines.append(#"      <property name="slack_ms" value="\#(decimal(slack, places: 0))"/>"#)
            }
            lines.append("    </properties>")
            for testCase in suite.cases { lines += element(testCase) }
            lines.append("  </testsuite>")
        }
        lines.append("</testsuites>")
        return lines.joined(separator: "\n") + "\n"
    }

    private static func element(_ result: CaseResult) -> [String] {
        let name = result.id.split(separator: "/").dropFirst().joined(separator: "/")
        let suite = String(result.id.prefix { $0 != "/" })
        let head =
            #"    <testcase classname="\#(escape(suite))" name="\#(escape(name))" time="\#(decimal(result.durationMilliseconds / 1_000))""#
            + source(of: result)
        let title = result.title.isEmpty ? [] : [result.title]
        let file = result.capture.map { " of \($0)" } ?? ""
        let evidence = result.evidence.map { "packet \($0.packet)\(file) (\($0.side)): \($0.text)" }
        let place = result.failedStep.map { ["at \($0.position): \($0.step)"] } ?? []
        let swap = result.swap.map { [$0.line] } ?? []
        let body = escape((title + place + swap + evidence).joined(separator: "\n"))
        let message = escape(result.message)
        switch result.verdict {
        case .pass: return [head + "/>"]
        case .fail: return [head + ">", #"      <failure type="FAIL" message="\#(message)">\#(body)</failure>"#, "    </testcase>"]
        case .notApplicable: return [head + ">", #"      <skipped message="\#(message)"/>"#, "    </testcase>"]
        case .inconclusive, .error:
            return [
                head + ">", #"      <error type="\#(result.verdict.rawValue)" message="\#(message)">\#(body)</error>"#, "    </testcase>",
            ]
        }
    }

    /// The line of the case's file where it stopped.
    private static func source(of result: CaseResult) -> String {
        let parts = result.failedStep?.position.split(separator: ":") ?? []
        guard parts.count >= 3 else { return "" }
        return #" file="\#(escape(parts.dropLast(2).joined(separator: ":")))" line="\#(parts[parts.count - 2])""#
    }

    private static func counts(_ cases: [CaseResult]) -> String {
        let failures = cases.count { $0.verdict == .fail }
        let errors = cases.count { $0.verdict == .error || $0.verdict == .inconclusive }
        let skipped = cases.count { $0.verdict == .notApplicable }
        return #"tests="\#(cases.count)" failures="\#(failures)" errors="\#(errors)" skipped="\#(skipped)""#
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

    /// Text for XML 1.0: markup escaped, characters that XML forbids replaced, and those that turn the direction of writing.
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
