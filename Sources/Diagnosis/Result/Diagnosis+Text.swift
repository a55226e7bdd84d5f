import BBPackets

extension Diagnosis {
    /// The explanation as text for a terminal.
    public var text: String {
        var lines = [summary]
        if let first = causes.first {
            lines += ["", "\(Self.heading(first.rule.severity)): \(first.message) (\(first.place))"]
        }
        if !findings.contains(where: { $0.rule.severity == .fault }) {
            // A symptom has a cause, even if the capture does not show it.
            lines += [""] + (causes.first?.rule.severity == .symptom ? [] : ["No fault found."]) + [coverage.text]
        }
        if provoked > 0 {
            let words = provoked == 1 ? "finding that a tester provokes is" : "findings that a tester provokes are"
            lines.append("\(provoked) \(words) left out (--provoked)")
        }
        for severity in DiagnosisRule.Severity.allCases {
            let list = findings.filter { $0.rule.severity == severity }
            guard !list.isEmpty else { continue }
            lines += ["", Self.title(severity)]
            for finding in list.prefix(Self.mostFindings) { lines += finding.lines }
            if list.count > Self.mostFindings { lines.append("  and \(list.count - Self.mostFindings) more") }
        }
        // A test run has a connection for each case; those of findings are enough.
        let named = Set(findings.compactMap(\.link))
        let links = links.count > Self.mostLinks ? links.filter { named.contains($0.number) } : links
        for link in links.prefix(Self.mostLinks) { lines += [""] + link.lines(devices) }
        let rest = self.links.count - min(links.count, Self.mostLinks)
        if rest > 0 { lines += ["", "and \(rest) more connections"] }
        return lines.joined(separator: "\n")
    }

    private static let mostFindings = 40
    private static let mostLinks = 40

    private var summary: String {
        let connections = "\(links.count) connection\(links.count == 1 ? "" : "s")"
        return "\(packets) packet\(packets == 1 ? "" : "s") in \(Self.seconds(duration)) s, \(connections)"
    }

    private static func title(_ severity: DiagnosisRule.Severity) -> String {
        switch severity {
        case .fault: "Faults"
        case .symptom: "Symptoms"
        case .capture: "Gaps of the capture"
        case .risk: "Risks"
        case .note: "Notes"
        case .harmless: "Harmless"
        }
    }

    /// The name of a finding: only a fault is called a cause.
    private static func heading(_ severity: DiagnosisRule.Severity) -> String {
        switch severity {
        case .fault: "Cause"
        case .symptom: "Symptom"
        case .capture: "The capture"
        case .risk: "Risk"
        case .note, .harmless: "Note"
        }
    }

    static func seconds(_ time: Int64) -> String {
        TextBuffer.text { text in
            text.write(decimal: Int(time / 1_000_000))
            text.write(".")
            text.write(decimal: UInt64(max(0, time) % 1_000_000) / 1_000, digits: 3)
        }
    }
}

extension Finding {
    /// The packets and the link.
    var place: String {
        let numbers = packets.map { "#\($0)" }.joined(separator: ", ") + (count > packets.count && packets.count > 1 ? " ..." : "")
        let owner =
            links.count > 1
            ? ", \(links.count) connections" + (owner == 0 ? " with private addresses" : device.map { " with device \($0)" } ?? "")
            : link.map { ", connection \($0)" } ?? device.map { ", device \($0)" } ?? ""
        return numbers + owner + (count > 1 ? ", \(count) times" : "")
    }

    fileprivate var lines: [String] {
        var lines = ["  \(rule.id): \(message)", "      \(place)" + (rule.section.map { "; \($0)" } ?? "")]
        if let cause { lines.append("      a consequence of \(cause)") }
        if let advice = rule.advice { lines.append("      \(advice)") }
        return lines
    }
}

extension LinkReport {
    fileprivate func lines(_ devices: [String]) -> [String] {
        var lines = [heading(devices)]
        func add(_ title: String, _ list: [String]) {
            if !list.isEmpty { lines.append("  \(title): " + list.joined(separator: "; ")) }
        }
        add("parameters", parameters.map { "\($0.text) (#\($0.packet))" })
        if let mtu { add("MTU", ["\(mtu.octets) octets (#\(mtu.packet))"]) }
        add("data length", dataLengths.map(\.placed))
        add("PHY", phys.map(\.placed))
        add("security", security.map(\.placed))
        add("services", services.map { PlainText.escaped($0) })
        for (title, flow, limit) in [(forthTitle, flows.forth, forthLimit), (backTitle, flows.back, backLimit)] {
            if let text = flow.text { add(title, [text + (limit.map { "; \($0.text)" } ?? "")]) }
        }
        add("end", end.map { [$0.placed] } ?? ["not in the capture"])
        return lines
    }

    private var forthTitle: String { localRole == nil && end == nil ? "data out" : "data from the central" }
    private var backTitle: String { localRole == nil && end == nil ? "data in" : "data from the peripheral" }

    private func heading(_ devices: [String]) -> String {
        let peer = device.flatMap { devices.indices.contains($0 - 1) ? "device \($0) (\(devices[$0 - 1]))" : nil } ?? "an unknown device"
        let role = localRole.map { ", local role \($0.rawValue)" } ?? ""
        let start = isComplete ? "opened" : "already open"
        return
            "Connection \(number) (\(kind.words)) with \(peer)\(role): \(start) at #\(opened.packet), \(Diagnosis.seconds(opened.time)) s"
    }
}

extension LinkReport.Change {
    fileprivate var placed: String { "\(PlainText.escaped(text)) (#\(packet))" }
}

extension LinkReport.Parameters {
    /// The parameters as text, in milliseconds.
    fileprivate var text: String {
        let interval = interval * 125
        let tail =
            interval % 100 == 0
            ? "" : interval % 10 == 0 ? ".\(interval % 100 / 10)" : ".\(interval % 100 < 10 ? "0" : "")\(interval % 100)"
        return "interval \(interval / 100)\(tail) ms, latency \(latency), timeout \(timeout * 10) ms"
    }
}

extension Flow {
    fileprivate var text: String? {
        guard packets > 0 else { return nil }
        let rate = rate.map { ", \(Int(saturating: $0.rounded())) kbit/s while it flowed" } ?? ""
        return "\(packets) values, \(octets) octets\(rate)"
    }
}
