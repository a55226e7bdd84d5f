import Foundation

/// Rows as comma-separated values and as a Markdown table.
public enum ThroughputTable {
    private typealias Column = (name: String, value: @Sendable (ThroughputRow) -> String)

    private static let columns: [Column] = [
        ("over", { $0.request.over.rawValue }), ("direction", { $0.request.direction.rawValue }),
        ("phy", { $0.request.packets?.rawValue ?? $0.request.phy.rawValue }), ("data_length", { "\($0.request.dataLength)" }),
        ("mtu", { "\($0.request.mtu)" }), ("interval_ms", { $0.request.packets == nil ? number($0.request.interval.milliseconds) : "" }),
        ("mps", { $0.request.channel.map { "\($0.mps)" } ?? "" }),
        ("channels", { row in row.request.bearers == nil ? row.request.channel.map { "\($0.count)" } ?? "" : "" }),
        ("bearers", { $0.request.bearers.map { "\($0)" } ?? "" }),
        ("encrypted", { "\($0.isEncrypted)" }), ("goodput_kbps", { number($0.goodput) }),
        ("ceiling_kbps", { number($0.ceiling?.perInterval) }),
        ("percent", { number($0.percent) }), ("packets_per_event", { number($0.packetsPerEvent) }),
        ("retransmissions", { $0.counters.map { "\($0.retransmissions)" } ?? "" }), ("limit", { $0.limit?.rawValue ?? "" }),
        ("repetitions", { "\(Swift.max(1, $0.repetitions.count))" }),
        ("mad_kbps", { $0.repetitions.isEmpty ? "" : number(RobustStatistics($0.repetitions).medianAbsoluteDeviation) }),
        ("p5_kbps", { $0.repetitions.isEmpty ? "" : number(RobustStatistics($0.repetitions).percentile(5)) }),
        ("p95_kbps", { $0.repetitions.isEmpty ? "" : number(RobustStatistics($0.repetitions).percentile(95)) }),
        ("round_trip_p50_us", { $0.roundTrips.map { "\($0.median)" } ?? "" }),
        ("round_trip_p99_us", { $0.roundTrips.map { "\($0.p99)" } ?? "" }),
        ("together", { $0.together ?? "" }),
        ("failure", { $0.failure ?? "" }),
    ]

    /// RFC 4180, with a header line.
    public static func csv(_ rows: [ThroughputRow]) -> String {
        ([columns.map(\.name)] + rows.map { row in columns.map { quoted($0.value(row)) } }).map { $0.joined(separator: ",") + "\r\n" }
            .joined()
    }

    public static func markdown(_ rows: [ThroughputRow]) -> String {
        let shown = columns.filter { column in rows.contains { !column.value($0).isEmpty } }
        let lines = [shown.map(\.name), shown.map { _ in "---" }] + rows.map { row in shown.map { escaped($0.value(row)) } }
        return lines.map { "| " + $0.joined(separator: " | ") + " |\n" }.joined()
    }

    /// The ladder as in docs/guide/throughput.md.
    public static func markdown(ladder: [LadderRung]) -> String {
        let head = "| step | talk, kbit/s | measured, kbit/s | packets in an event | assumed |\n| --- | --- | --- | --- | --- |\n"
        return ladder.reduce(head) { text, rung in
            let figures = [rung.measured, rung.packetsPerEvent].map { $0.map { String(format: "%.1f", $0) } ?? "" }
            let assumed = "\(String(format: "%g", rung.intervalMilliseconds)) ms; \(rung.note)"
            let cells = [escaped(rung.name), String(format: "%g", rung.published)] + figures + [escaped(assumed)]
            return text + "| " + cells.joined(separator: " | ") + " |\n"
        }
    }

    private static func number(_ value: Double?) -> String { value.map { "\(ThroughputRow.rounded($0))" } ?? "" }

    private static func quoted(_ text: String) -> String {
        text.contains { ",\"\r\n".contains($0) } ? "\"" + text.replacing("\"", with: "\"\"") + "\"" : text
    }

    private static func escaped(_ text: String) -> String {
        text.replacing("|", with: "\\|").replacing("<", with: "&lt;").replacing("\n", with: " ")
    }
}
