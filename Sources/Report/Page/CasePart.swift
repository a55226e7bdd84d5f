import BBConformance
import BBPackets

/// HTML of one case: purpose, steps, expectation and observation, packets, and the command that repeats it.
struct CasePart {
    let result: CaseResult
    let run: RunResult
    /// Options that repeat the run, before those of the case.
    let options: String
    /// Earlier runs for comparison, and the facts of this run.
    var earlier = EarlierRuns()
    var facts = RunFacts()
    /// True if the page still has room for the ladder of a passed case.
    var showsLadder = true

    private var trace: CaseTrace { result.trace ?? CaseTrace() }
    private var needsAttention: Bool { result.verdict != .pass && result.verdict != .notApplicable }

    func html() -> String {
        let name = result.id.split(separator: "/").dropFirst().joined(separator: "/")
        let open = needsAttention ? " open" : ""
        let tags = result.about.tags.isEmpty ? "" : #" data-tags="\#(Markup.text(result.about.tags.joined(separator: " ")))""#
        let style = Markup.cssClass(result.verdict)
        return """
            <details class="case \(style)" id="\(Markup.text(result.id))" data-verdict="\(style)"\(tags)\(open)>\
            <summary>\(Markup.badge(result.verdict))<h4>\(Markup.text(name))</h4><span class="title">\(Markup.text(result.title + flaky))</span>\
            <span class="time">\(Markup.milliseconds(result.virtualMilliseconds)) ms</span></summary>
            <div class="body">\(outcome)\(about)\(since)\(steps)\(ladder)\(evidence)\(commands)\(again)</div></details>

            """
    }

    private var flaky: String {
        result.isFlaky ? " (flaky: \(result.attempts.map(\.verdict.rawValue).joined(separator: ", ")))" : ""
    }

    // MARK: Result

    private var outcome: String {
        var parts: [String] = []
        if !result.message.isEmpty { parts.append(#"<p class="message">\#(Markup.lines(result.message))</p>"#) }
        if let step = result.failedStep {
            if let expected = step.expected, let got = step.got {
                let packet = step.packet.map { " <span class=\"soft\">packet \($0)</span>" } ?? ""
                parts.append(
                    """
                    <dl class="versus"><div><dt>expected</dt><dd><code>\(Markup.text(expected))</code></dd></div>\
                    <div class="got"><dt>got\(packet)</dt><dd><code>\(Markup.text(got))</code></dd></div></dl>
                    """)
            }
            parts.append(#"<p class="soft">\#(Markup.text("\(step.position) · \(step.step)"))</p>"#)
        }
        if run.isExpected(result), let expected = run.expectation(of: result) {
            parts.append(#"<p class="soft note">\#(Markup.text("an expected failure: \(expected.reason)"))</p>"#)
        }
        if result.isFlaky, let attempt = result.flakyAttempt {
            parts.append(#"<p class="soft note">\#(Markup.text("\(attempt.verdict.rawValue) at first: \(attempt.message)"))</p>"#)
        }
        for note in (result.swap.map { [$0.line] } ?? []) + result.notes {
            parts.append(#"<p class="soft note">\#(Markup.text(note))</p>"#)
        }
        return parts.joined()
    }

    private var about: String {
        var rows: [(String, String)] = []
        if !result.about.purpose.isEmpty { rows.append(("purpose", Markup.text(result.about.purpose))) }
        if !result.about.reference.isEmpty { rows.append(("judges", Markup.text(result.about.reference))) }
        let covers = result.covers + result.partialCovers.map { $0 + " (part)" }
        if !covers.isEmpty { rows.append(("covers", covers.map { "<span>\(Markup.text($0))</span>" }.joined(separator: ", "))) }
        if !result.about.tags.isEmpty { rows.append(("tags", Markup.text(result.about.tags.joined(separator: ", ")))) }
        guard !rows.isEmpty else { return "" }
        return #"<dl class="about">"# + rows.map { "<div><dt>\($0.0)</dt><dd>\($0.1)</dd></div>" }.joined() + "</dl>"
    }

    private var since: String {
        guard needsAttention, !earlier.isEmpty else { return "" }
        if let pass = earlier.lastPass(of: result.id) { return SinceLastPass(pass, result, run, facts).html(pass) }
        let words =
            earlier.has(result.id)
            ? "It did not pass in the runs that this one is compared with, either."
            : "The runs that this one is compared with do not have it."
        return #"<p class="soft">\#(words)</p>"#
    }

    // MARK: Steps

    private var steps: String {
        guard !result.steps.isEmpty, result.verdict != .notApplicable else { return "" }
        var items = ""
        var part: StepRecord.Part?
        for step in result.steps {
            if step.part != part {
                items += #"<li class="part">\#(step.part.rawValue)</li>"#
                part = step.part
            }
            items += item(step)
        }
        return #"<h5>Steps</h5><ol class="steps">\#(items)</ol>"#
    }

    private func item(_ step: StepRecord) -> String {
        let (style, word) = Self.words(step.outcome)
        let depth = step.depth > 0 ? #" style="--depth:\#(min(step.depth, 6))""# : ""
        let requirement = step.requirement.map { #"<span class="requirement">\#(Markup.text($0))</span>"# } ?? ""
        let times = step.times > 1 ? " ×\(step.times)" : ""
        let time = step.beganMilliseconds.map { began in
            let took = step.endedMilliseconds.map { " +" + Markup.milliseconds($0 - began) } ?? ""
            return Markup.milliseconds(began) + took + " ms" + times
        }
        return
            #"<li class="\#(style)"\#(depth)><span>\#(Markup.text(step.step))\#(requirement)</span><span class="time">\#(time ?? word)</span></li>"#
    }

    /// Style and word for an outcome in the list.
    private static func words(_ outcome: StepRecord.Outcome) -> (style: String, word: String) {
        switch outcome {
        case .done: ("passed", "passed")
        case .skipped: ("skipped", "skipped")
        case .stopped: ("failed", "failed")
        case .notReached: ("open", "not reached")
        }
    }

    private var ladder: String {
        guard needsAttention || showsLadder else { return "" }
        return Ladder(result, trace).html()
    }

    private var evidence: String {
        guard !result.evidence.isEmpty else { return "" }
        let items = result.evidence.map { evidence in
            let number = evidence.packet > 0 ? "#\(evidence.packet)" : ""
            let time = evidence.milliseconds.map { Markup.milliseconds($0) + " ms" } ?? ""
            return """
                <li><span class="number">\(number)</span> <span class="soft">\(Markup.text(evidence.side)) \(time)</span> \
                <code>\(Markup.text(evidence.text))</code></li>
                """
        }
        return #"<h5>Evidence</h5><ul class="evidence">\#(items.joined())</ul>"#
    }

    /// The user's commands around the case, with their output.
    private var commands: String {
        guard !result.commands.isEmpty else { return "" }
        let items = result.commands.map { command in
            let omitted = command.omitted > 0 ? "(\(command.omitted) octets before are not shown)\n" : ""
            let text = omitted + command.output
            let output = text.isEmpty ? "" : #"<pre class="command" tabindex="0">\#(Markup.output(text))</pre>"#
            return "<li>\(Markup.text(command.line))\(output)</li>"
        }
        return #"<h5>Commands around the case</h5><ul class="evidence">\#(items.joined())</ul>"#
    }

    // MARK: Repetition and links

    private var again: String {
        let seed = result.seed == 0 ? "" : "--seed \(run.seed) "
        let command = "bluebench run \(Markup.quoted(result.id)) \(seed)\(options)"
        return #"<h5>Run it again</h5><pre class="command" tabindex="0">\#(Markup.text(command.trimmed))</pre>"# + capture
    }

    /// Link to the capture at the case and at the relevant packet.
    private var capture: String {
        guard let file = result.capture else { return "" }
        var lines: [String] = []
        let packet = result.failedStep?.packet ?? result.evidence.last { $0.packet > 0 }?.packet
        if needsAttention, let packet, packet > 0 { lines.append("wireshark -g \(packet) \(Markup.quoted(file))") }
        if let range = result.packetRange {
            lines.append("tshark -r \(Markup.quoted(file)) -Y 'frame.number >= \(range.first) && frame.number <= \(range.last)'")
        }
        let place = packet.map { ", packet \($0)" } ?? ""
        let text = #"<p class="soft">capture: <a href="\#(Markup.link(file))">\#(Markup.text(file))</a>\#(place)</p>"#
        guard !lines.isEmpty else { return text }
        return text + #"<pre class="command" tabindex="0">\#(lines.map(Markup.text).joined(separator: "\n"))</pre>"#
    }
}

extension String {
    fileprivate var trimmed: String {
        var text = self[...]
        while text.last == " " { text.removeLast() }
        return String(text)
    }
}
