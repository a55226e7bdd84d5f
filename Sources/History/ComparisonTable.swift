import BBPackets
import Foundation

/// The result of a comparison as a plain text or Markdown table.
public struct ComparisonTable: Sendable {
    public var columns: [String]
    public var rows: [[String]]
    /// Summary of the table in one line.
    public var summary: String

    /// The aligned columns and the summary.
    public var text: String { (lines + [summary]).joined(separator: "\n") }

    /// Aligned columns, the first to the left and the others to the right; none without rows.
    var lines: [String] {
        guard !rows.isEmpty else { return [] }
        // Names come from files and must not start a new line.
        let rows = rows.map { $0.map(PlainText.escaped) }
        let widths = columns.indices.map { column in ([columns] + rows).map { $0[column].count }.max() ?? 0 }
        return ([columns] + rows).map { row in
            row.indices.map { column in
                let space = String(repeating: " ", count: widths[column] - row[column].count)
                return column == 0 || column == row.count - 1 ? row[column] + (column == 0 ? space : "") : space + row[column]
            }.joined(separator: "  ")
        }
    }

    public var markdown: String {
        guard !rows.isEmpty else { return summary + "\n" }
        let rule = columns.indices.map { $0 == 0 || $0 == columns.count - 1 ? "---" : "---:" }
        let lines = ([columns, rule] + rows).map { "| " + $0.map(Self.escaped).joined(separator: " | ") + " |" }
        return summary + "\n\n" + lines.joined(separator: "\n") + "\n"
    }

    private static func escaped(_ text: String) -> String {
        text.replacingOccurrences(of: "|", with: "\\|").replacingOccurrences(of: "\n", with: " ").replacingOccurrences(
            of: "<", with: "&lt;")
    }
}

extension ThroughputComparison {
    /// - Parameter all: include rows without a difference.
    public func table(all: Bool) -> ComparisonTable {
        let shown = rows.filter { all || $0.finding != .same }
        return ComparisonTable(
            columns: ["row", "base kbit/s", "now kbit/s", "change", "noise", "finding"],
            rows: shown.map { row in
                [
                    row.name, Self.fixed(row.base), Self.fixed(row.now), row.change.map { String(format: "%+.2f %%", $0) } ?? "-",
                    row.band.map { String(format: "%.2f %%", $0) } ?? "-",
                    row.finding.rawValue
                        + ([.regression, .slower, .inconclusive, .broken].contains(row.finding) ? row.reason.map { ": \($0)" } ?? "" : ""),
                ]
            },
            summary: Self.summary(
                Finding.allCases.map { finding in (finding.rawValue, rows.count { $0.finding == finding }) }, of: rows.count))
    }

    static func summary(_ counts: [(name: String, count: Int)], of total: Int) -> String {
        let parts = counts.filter { $0.count > 0 }.map { "\($0.count) \($0.name)" }
        return "\(total) compared: " + (parts.isEmpty ? "none" : parts.joined(separator: ", "))
    }

    private static func fixed(_ value: Double?) -> String { value.map { String(format: "%.1f", $0) } ?? "-" }
}

extension VerdictComparison {
    /// - Parameter all: include cases without a difference.
    public func table(all: Bool) -> ComparisonTable {
        let quiet: Set<Finding> = [.same, .stillFailing]
        return ComparisonTable(
            columns: ["case", "base", "now", "finding"],
            rows: rows.filter { all || !quiet.contains($0.finding) }.map { row in
                let reason = row.finding == .newlyFailing ? row.message.map { ": \($0)" } ?? "" : ""
                return [row.id, row.base ?? "-", row.now ?? "-", row.finding.rawValue + reason]
            },
            summary: ThroughputComparison.summary(
                Finding.allCases.map { finding in (finding.rawValue, rows.count { $0.finding == finding }) }, of: rows.count))
    }
}
