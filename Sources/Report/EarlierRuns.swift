import BBConformance

/// Earlier runs, and the last one in which each case passed.
public struct EarlierRuns: Sendable {
    struct Pass: Sendable {
        var result: CaseResult
        /// The run, without its cases.
        var run: RunResult
        var facts: RunFacts
    }

    private var passes: [String: Pass] = [:]
    private var known: Set<String> = []

    /// Creates an empty collection: no case is compared with earlier runs.
    public init() {}

    /// - Parameter runs: in any order; they are sorted by date.
    public init(_ runs: [(result: RunResult, facts: RunFacts)]) {
        for (result, facts) in runs.sorted(by: { $0.facts.date < $1.facts.date }) {
            var run = result
            run.cases = []
            for found in result.cases where !found.isNotRun {
                known.insert(found.id)
                if found.verdict == .pass { passes[found.id] = Pass(result: found, run: run, facts: facts) }
            }
        }
    }

    var isEmpty: Bool { known.isEmpty }

    func lastPass(of id: String) -> Pass? { passes[id] }

    func has(_ id: String) -> Bool { known.contains(id) }
}

/// Differences of a case that needs attention from its last PASS.
struct SinceLastPass {
    struct Row: Equatable {
        var what: String
        var then: String
        var now: String
    }

    let rows: [Row]

    init(_ pass: EarlierRuns.Pass, _ result: CaseResult, _ run: RunResult, _ facts: RunFacts) {
        var rows = [Row(what: "verdict", then: pass.result.verdict.rawValue, now: result.verdict.rawValue)]
        func compare(_ what: String, _ then: String?, _ now: String?) {
            if then != now { rows.append(Row(what: what, then: then ?? "–", now: now ?? "–")) }
        }
        compare("bluebench", pass.facts.version, facts.version)
        compare("machine", pass.facts.host, facts.host)
        compare("tester", pass.run.tester, run.tester)
        compare("subject", pass.run.subject, run.subject)
        compare("product", pass.run.product?.line, run.product?.line)
        for side in ["tester", "subject"] {
            compare("\(side)'s dongle", Self.numbers(side, pass.run), Self.numbers(side, run))
        }
        compare("seed", "\(pass.result.seed)", "\(result.seed)")
        compare("what it judges", pass.result.about.reference, result.about.reference)
        if let step = Self.firstStep(pass.result.steps, result.steps) { rows.append(step) }
        compare("packets", Self.packets(pass.result), Self.packets(result))
        compare(
            "simulated time", Markup.milliseconds(pass.result.virtualMilliseconds) + " ms",
            Markup.milliseconds(result.virtualMilliseconds) + " ms")
        self.rows = rows
    }

    private static func numbers(_ side: String, _ run: RunResult) -> String? { run.devices.first { $0.side == side }?.numbers?.line }

    private static func packets(_ result: CaseResult) -> String? { result.packetRange.map { "\($0.last - $0.first + 1)" } }

    /// The first step with another outcome, or another step.
    private static func firstStep(_ then: [StepRecord], _ now: [StepRecord]) -> Row? {
        for (old, new) in zip(then, now) {
            guard old.step == new.step else { return Row(what: "a step", then: old.step, now: new.step) }
            if old.outcome != new.outcome { return Row(what: new.step, then: words(old), now: words(new)) }
        }
        return then.count == now.count ? nil : Row(what: "steps", then: "\(then.count)", now: "\(now.count)")
    }

    private static func words(_ step: StepRecord) -> String {
        let time = step.endedMilliseconds.map { ", at " + Markup.milliseconds($0) + " ms" } ?? ""
        return step.outcome.rawValue + time
    }

    func html(_ pass: EarlierRuns.Pass) -> String {
        let place = pass.facts.date.isEmpty ? "" : pass.facts.date.replacing("T", with: " ") + " UTC"
        let lines = rows.map { row in
            "<tr><th scope=\"row\">\(Markup.text(row.what))</th><td>\(Markup.text(row.then))</td><td>\(Markup.text(row.now))</td></tr>"
        }
        return """
            <h5>Since it last passed</h5><table class="since"><thead><tr><th scope="col">differs</th><th scope="col">then \(Markup.text(place))</th>\
            <th scope="col">now</th></tr></thead><tbody>\(lines.joined())</tbody></table>
            """
    }
}
