import BBConformance
import BBPackets
import BBThroughput

/// Summary of a run.
struct Headline {
    let text: String
    let style: String
    /// True if the text has the number of flaky cases.
    let namesFlaky: Bool

    init(_ result: RunResult) {
        let failed = result.count(.fail) - result.expectedFailureCount
        let passes = result.unexpectedPasses.count
        let open = result.count(.error) + result.count(.inconclusive)
        namesFlaky = result.exitCode == 1 && failed == 0 && passes == 0
        switch result.exitCode {
        case 0: (text, style) = ("Passed", "pass")
        case 1 where namesFlaky:
            (text, style) = (result.flakyCount == 1 ? "1 case is flaky" : "\(result.flakyCount) cases are flaky", "fail")
        case 1 where failed == 0:
            (text, style) = (passes == 1 ? "1 expected failure is missing" : "\(passes) expected failures are missing", "fail")
        case 1:
            let words = failed == 1 ? "1 case failed" : "\(failed) cases failed"
            (text, style) = (open == 0 ? words : words + ", \(open) without a verdict", "fail")
        default: (text, style) = (Self.gap(in: result), "inconc")
        }
    }

    private static func gap(in result: RunResult) -> String {
        if let ending = result.ending, !result.missingShards.isEmpty { return "Incomplete: " + ending }
        return result.isInterrupted ? "Stopped before its end" : "No verdict for every case"
    }
}

/// Date, place and devices of a run.
struct RunSheet {
    private let result: RunResult
    private let run: RunFacts
    private let earlier: EarlierRuns

    init(_ result: RunResult, _ run: RunFacts, comparedWith earlier: EarlierRuns = EarlierRuns()) {
        (self.result, self.run, self.earlier) = (result, run, earlier)
    }

    var facts: [[String: Any]] {
        let machine = result.cases.reduce(0) { $0 + $1.durationMilliseconds } / 1_000
        let virtual = result.cases.reduce(0) { $0 + $1.virtualMilliseconds } / 1_000
        var facts = [
            ("tester", result.tester), ("subject", result.subject), ("seed", "\(result.seed)"),
            ("time", "\(JUnit.decimal(virtual, places: 1)) s in the run, \(JUnit.decimal(machine, places: 1)) s on the machine"),
        ]
        if let product = result.product { facts.insert(("product", product.line), at: 2) }
        facts += result.labels.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
        if let shard = result.shard { facts.append(("shard", shard)) }
        if !result.missingShards.isEmpty {
            facts.append(("incomplete", result.ending ?? ""))
        } else if result.isInterrupted {
            facts.append(("ended", "stopped before its end"))
        }
        if result.flakyCount > 0 { facts.append(("flaky", "\(result.flakyCount) passed only when run again")) }
        if result.expectedFailureCount > 0 { facts.append(("expected", "\(result.expectedFailureCount) cases fail as expected")) }
        for missing in result.unexpectedPasses {
            facts.append(("not failed", "\(missing.id), a failure of which is expected: \(missing.reason)"))
        }
        if let slack = result.slackMilliseconds { facts.append(("slack", "\(JUnit.decimal(slack, places: 0)) ms at the ends of windows")) }
        if let shuffle = result.shuffle { facts.append(("order", "shuffled, seed \(shuffle)")) }
        if let usb = result.usb, !usb.isClean {
            facts.append(("left behind", "\(usb.handlesOpen) USB handles, \(usb.transfersInFlight) transfers in flight"))
        }
        facts += GivenOption.lines(run.options)
        if !run.host.isEmpty { facts.append(("machine", run.host)) }
        if !run.version.isEmpty { facts.append(("bluebench", run.version)) }
        if !earlier.isEmpty {
            let passed = result.cases.count { $0.needsAttention && earlier.lastPass(of: $0.id) != nil }
            facts.append(("compared", "\(passed) of \(result.cases.count(where: \.needsAttention)) that need attention passed before"))
        }
        return Self.rows(facts)
    }

    /// Properties of real devices: chip, firmware, matching table rows, active workarounds and observed quirks.
    var devices: [[String: Any]] {
        var facts: [(String, String)] = []
        for device in result.devices {
            facts.append((device.side + "'s device", device.line + (device.race.map { "; " + $0 } ?? "")))
            for text in device.conduct { facts.append((device.side, text)) }
            for loss in device.losses { facts.append((device.side + " lost", loss.line)) }
        }
        return Self.rows(facts)
    }

    private static func rows(_ facts: [(String, String)]) -> [[String: Any]] {
        facts.map { ["name": $0.0, "value": PlainText.escaped($0.1)] }
    }
}
