import Conformance
import Mustache
import Packets

/// A run as one page that needs nothing but itself: verdicts, evidence, throughput against its ceiling.
public struct HTMLPage {
    public var result: RunResult
    public var throughput: [ThroughputBar]
    public var run: RunFacts

    public init(_ result: RunResult, throughput: [ThroughputBar] = [], about run: RunFacts = RunFacts()) {
        self.result = result
        self.throughput = throughput
        self.run = run
    }

    public func text() throws -> String {
        let library = MustacheLibrary(templates: ["page": try MustacheTemplate(string: Self.template)])
        return library.render(page, withTemplate: "page") ?? ""
    }

    private var page: [String: Any] {
        [
            "verdict": headline, "verdictClass": headlineClass, "style": Self.style,
            "facts": facts, "tiles": tiles, "share": VerdictShare.svg(result), "suites": suites, "attention": attention,
            "hasAttention": !attention.isEmpty, "groups": groups, "hasThroughput": !throughput.isEmpty,
        ]
    }

    private var headline: String {
        if result.isInterrupted { return "Stopped before its end" }
        switch result.exitCode {
        case 0: return "Passed"
        case 1:
            let failed = result.count(.fail) == 1 ? "1 case failed" : "\(result.count(.fail)) cases failed"
            let open = result.count(.error) + result.count(.inconclusive)
            return open == 0 ? failed : failed + ", \(open) without a verdict"
        default: return "No verdict for every case"
        }
    }

    private var headlineClass: String {
        switch result.exitCode {
        case 0: "pass"
        case 1: "fail"
        default: "inconc"
        }
    }

    private var facts: [[String: Any]] {
        let machine = result.cases.reduce(0) { $0 + $1.durationMilliseconds } / 1_000
        let virtual = result.cases.reduce(0) { $0 + $1.virtualMilliseconds } / 1_000
        var facts = [
            ("tester", result.tester), ("subject", result.subject), ("seed", "\(result.seed)"),
            ("time", "\(JUnit.decimal(virtual, places: 1)) s in the run, \(JUnit.decimal(machine, places: 1)) s on the machine"),
        ]
        for device in result.devices {
            facts.append((device.side + "'s device", device.line + (device.race.map { "; " + $0 } ?? "")))
            for text in device.conduct { facts.append((device.side, text)) }
            for loss in device.losses { facts.append((device.side + " lost", loss.line)) }
        }
        if let slack = result.slackMilliseconds { facts.append(("slack", "\(JUnit.decimal(slack, places: 0)) ms at the ends of windows")) }
        if let shuffle = result.shuffle { facts.append(("order", "shuffled, seed \(shuffle)")) }
        if let usb = result.usb, !usb.isClean {
            facts.append(("left behind", "\(usb.handlesOpen) USB handles, \(usb.transfersInFlight) transfers in flight"))
        }
        if !run.date.isEmpty { facts.append(("date", run.date.replacing("T", with: " ") + " UTC")) }
        if !run.host.isEmpty { facts.append(("machine", run.host)) }
        if !run.version.isEmpty { facts.append(("bluebench", run.version)) }
        return facts.map { ["name": $0.0, "value": PlainText.escaped($0.1)] }
    }

    private var tiles: [[String: Any]] {
        Verdict.allCases.map { verdict in
            [
                "name": verdict.rawValue, "class": Self.cssClass(verdict), "count": result.count(verdict),
                "isZero": result.count(verdict) == 0,
            ]
        }
    }

    private var attention: [[String: Any]] {
        result.cases.filter { $0.verdict == .fail || $0.verdict == .error || $0.verdict == .inconclusive }.sorted { $0.id < $1.id }.map(row)
    }

    private var suites: [[String: Any]] {
        JUnit.suites(of: result.cases).map { suite in
            let bad = suite.cases.count { $0.verdict != .pass && $0.verdict != .notApplicable }
            return [
                "name": suite.name, "passed": suite.cases.count { $0.verdict == .pass }, "total": suite.cases.count, "isOpen": bad > 0,
                "cases": suite.cases.map(row),
            ]
        }
    }

    private func row(_ result: CaseResult) -> [String: Any] {
        let covers = result.covers + result.partialCovers.map { $0 + " (part)" }
        return [
            "id": result.id, "title": PlainText.escaped(result.title), "verdict": result.verdict.rawValue,
            "class": Self.cssClass(result.verdict),
            "covers": covers, "message": Self.lines(result.message), "hasMessage": !result.message.isEmpty,
            "place": result.failedStep.map { PlainText.escaped("\($0.position) · \($0.step)") } ?? "", "hasPlace": result.failedStep != nil,
            "time": JUnit.decimal(result.virtualMilliseconds, places: 1),
            "evidence": result.evidence.map {
                [
                    "packet": $0.packet, "time": $0.milliseconds.map { JUnit.decimal($0, places: 1) } ?? "", "side": $0.side,
                    "text": PlainText.escaped($0.text),
                ] as [String: Any]
            },
            "hasEvidence": !result.evidence.isEmpty, "notes": ((result.swap.map { [$0.line] } ?? []) + result.notes).map(PlainText.escaped),
            "capture": result.capture ?? "",
            "hasCapture": result.capture != nil,
        ]
    }

    /// A message may have lines of its own; anything else that is no plain text is written out.
    private static func lines(_ text: String) -> String {
        text.split(separator: "\n", omittingEmptySubsequences: false).map { PlainText.escaped(String($0)) }.joined(separator: "\n")
    }

    private var groups: [[String: Any]] {
        var groups: [(String, [ThroughputBar])] = []
        for bar in throughput {
            if let index = groups.firstIndex(where: { $0.0 == bar.group }) {
                groups[index].1.append(bar)
            } else {
                groups.append((bar.group, [bar]))
            }
        }
        return groups.map { group in ["name": group.0, "chart": ThroughputChart.html(group.1)] }
    }

    static func cssClass(_ verdict: Verdict) -> String {
        switch verdict {
        case .pass: "pass"
        case .fail: "fail"
        case .inconclusive: "inconc"
        case .notApplicable: "na"
        case .error: "error"
        }
    }
}
