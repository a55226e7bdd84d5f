import BBPackets
import BBThroughput

/// Throughput rows as a self-contained HTML page: figures with their ceilings, losses by cause, and the first connection events of each row
/// if the air was observed.
public struct ThroughputPage {
    private let report: ThroughputReport

    public init(_ report: ThroughputReport) { self.report = report }

    public func text() throws -> String { try PageFiles.render("throughput-page", page) }

    private var page: [String: Any] {
        let failed = report.rows.count { $0.failure != nil }
        let count = report.rows.count == 1 ? "1 row" : "\(report.rows.count) rows"
        var page = ThroughputSection(report.rows.map { ThroughputBar($0) }).fields
        let title = count + (failed == 0 ? "" : ", \(failed) without a figure")
        page["style"] = PageFiles.style
        page["title"] = title
        page["pageTitle"] = "Throughput: " + title
        page["titleClass"] = failed == 0 ? "pass" : "fail"
        page["date"] = report.setup?.date.map { $0.replacing("T", with: " ") + " UTC" } ?? ""
        page["facts"] = facts.map { ["name": $0.0, "value": PlainText.escaped($0.1)] }
        page["rows"] = report.rows.enumerated().map { row($1, number: $0 + 1) }
        return page
    }

    private var facts: [(String, String)] {
        let setup = report.setup ?? ThroughputSetup()
        let known: [(String, String?)] = [
            ("tester", setup.tester), ("its controller", setup.testerController), ("subject", setup.subject),
            ("its controller", setup.subjectController), ("counted", setup.seconds.map { "\(HeatMap.figure($0)) s a row" }),
            ("packet error", setup.packetError.flatMap { $0 == 0 ? nil : "\($0)" }), ("seed", "\(report.seed)"), ("machine", setup.host),
            ("bluebench", setup.build),
        ]
        let labels = (setup.labels ?? [:]).sorted { $0.key < $1.key }
        return known.compactMap { name, value in value.map { (name, $0) } } + labels.map { ($0.key, $0.value) }
            + GivenOption.lines(setup.options ?? [])
    }

    private func row(_ row: ThroughputRow, number: Int) -> [String: Any] {
        let bar = ThroughputBar(row)
        let times = row.roundTrips.map {
            "round trips: median \(HeatMap.figure(Double($0.median) / 1_000)) ms, p99 \(HeatMap.figure(Double($0.p99) / 1_000)) ms"
        }
        let spread =
            row.repetitions.isEmpty
            ? nil
            : "\(row.repetitions.count) times, " + row.repetitions.map { JUnit.decimal($0, places: 1) }.joined(separator: ", ") + " kbit/s"
        return [
            "number": number, "name": PlainText.escaped("\(bar.group): \(bar.label), \(row.request.direction.rawValue)"),
            "figure": row.failure == nil ? "\(JUnit.decimal(row.goodput, places: 1)) kbit/s" : "failed",
            "ceiling": JUnit.decimal(row.ceiling?.perInterval ?? 0, places: 1), "percent": JUnit.decimal(row.percent, places: 1),
            "explanation": PlainText.escaped(([row.explanation, times, spread].compactMap(\.self)).joined(separator: "; ")),
            "events": row.timeline.map { EventPicture($0).html } ?? "", "hasEvents": row.timeline?.packets.isEmpty == false,
        ]
    }
}
