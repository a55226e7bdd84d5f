import BBConformance
import BBPackets
import BBProducts

/// The packets of a case as a message sequence chart: hosts and controllers of tester and subject are lines, packets are arrows between
/// them. It is built from a list, so that it is readable without styles.
struct Ladder {
    private let result: CaseResult
    private let trace: CaseTrace
    private let marked: Set<Key>
    private let failing: Key?

    /// Maximum number of rows for a passed case.
    static let mostOfPassed = 24

    private struct Key: Hashable {
        var packet: Int
        var side: String
    }

    init(_ result: CaseResult, _ trace: CaseTrace) {
        self.result = result
        self.trace = trace
        marked = Set(result.evidence.filter { $0.packet > 0 }.map { Key(packet: $0.packet, side: $0.side) })
        let packet = result.failedStep?.packet
        failing = packet.flatMap { number in result.evidence.last { $0.packet == number }.map { Key(packet: number, side: $0.side) } }
    }

    func html() -> String {
        guard !trace.packets.isEmpty || result.log != nil else { return "" }
        var (rows, log) = ("", LogRows(result.log))
        for (index, packet) in trace.packets.enumerated() {
            rows += log.html(until: packet.atMilliseconds)
            if trace.omitted > 0, index == trace.gap { rows += gap }
            rows += row(packet)
        }
        rows += log.html(until: .infinity)
        if trace.omitted > 0, trace.gap >= trace.packets.count { rows += gap }
        return """
            <h5>Packets</h5><div class="ladder"><p class="lanes"><span>tester's host</span><span>controller</span>\
            <span>controller</span><span>subject's host</span></p><ol>\(rows)\(missing)</ol></div>
            """
    }

    private var gap: String { #"<li class="gap">\#(trace.omitted) packets are not shown</li>"# }

    /// The rows of the product's log that are not written yet.
    private struct LogRows {
        private let log: LogExcerpt
        private var next = 0

        init(_ log: LogExcerpt?) { self.log = log ?? LogExcerpt() }

        /// Returns the lines up to a time of the case.
        mutating func html(until milliseconds: Double) -> String {
            var rows = ""
            while next < log.lines.count, log.lines[next].milliseconds <= milliseconds {
                if log.omitted > 0, next == log.gap { rows += #"<li class="gap">\#(log.omitted) lines of the log are not shown</li>"# }
                let line = log.lines[next]
                rows += """
                    <li class="log"><span class="time">\(Markup.milliseconds(line.milliseconds))</span> \
                    <code>\(Markup.text(line.text))</code></li>
                    """
                next += 1
            }
            return rows
        }
    }

    /// The packet that did not arrive.
    private var missing: String {
        guard let step = result.failedStep, let expected = step.expected, step.packet == nil else { return "" }
        return #"<li class="gap missing">expected \#(Markup.text(expected)): \#(Markup.text(step.got ?? "nothing came"))</li>"#
    }

    private func row(_ packet: PacketTrace) -> String {
        let key = Key(packet: packet.packet, side: packet.side)
        var style = "\(packet.side.first ?? "t")-\(packet.way.rawValue)"
        var word = ""
        if packet.packet > 0, key == failing {
            style += " failing"
            word = " <b>failing</b>"
        } else if packet.packet > 0, marked.contains(key) {
            style += " marked"
        }
        let number = packet.packet > 0 ? #"<span class="number">#\#(packet.packet)</span>"# : ""
        let times = packet.times > 1 ? " ×\(packet.times)" : ""
        let head = """
            <span class="time">\(Markup.milliseconds(packet.atMilliseconds))</span><span class="label">\
            <span class="name">\(Markup.text(packet.name))\(times)</span>\(brief(packet))\(word) \(number)</span>
            """
        guard !packet.fields.isEmpty else { return #"<li class="\#(style)"><div class="row">\#(head)</div></li>"# }
        let fields = packet.fields.map { "<li><code>\(Markup.text($0))</code></li>" }.joined()
        let open = style.hasSuffix("failing") ? " open" : ""
        return #"<li class="\#(style)"><details\#(open)><summary class="row">\#(head)</summary><ul>\#(fields)</ul></details></li>"#
    }

    /// Short text that distinguishes packets with the same name: the answered command, or the error.
    private func brief(_ packet: PacketTrace) -> String {
        let told = packet.fields.compactMap { field -> String? in
            guard let sign = field.firstIndex(of: "=") else { return nil }
            let value = String(field[field.index(after: sign)...])
            return switch field[..<sign] {
            case "Command_Opcode", "Request_Opcode_In_Error": value
            case "Status", "Reason", "Error_Code", "ErrorCode": value == "Success" ? nil : value
            default: nil
            }
        }
        return told.isEmpty ? "" : #" <span class="brief">\#(Markup.text(told.joined(separator: " ")))</span>"#
    }
}
