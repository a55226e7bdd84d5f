import ArgumentParser
import BBPackets
import BBReport
import BBSessions
import BBThroughput
import BBTiming
import Foundation

/// The output of `bluebench throughput`, row by row.
struct ThroughputOutput {
    private let file: OutputFile?
    private let page: OutputFile?
    private let markdown: OutputFile?
    private let csv: OutputFile?
    private let isExplaining: Bool
    private let showsProgress: Bool
    private let start = ContinuousClock.now
    private(set) var report = ThroughputReport()
    private var total = 0
    private var pair: VirtualPair?
    /// Raised to end the sweep; the rows measured so far are kept.
    let stop: StopFlag

    /// - Throws: an error if the file cannot be written, before the measurement.
    init(_ paths: ThroughputFiles, isExplaining: Bool, showsProgress: Bool, seed: UInt64, setup: ThroughputSetup, stop: StopFlag) throws {
        self.stop = stop
        file = try paths.json.map { try OutputFile($0) }
        page = try paths.html.map { try OutputFile($0) }
        csv = try paths.csv.map { try OutputFile($0) }
        markdown = try paths.markdown.map { try OutputFile($0) }
        (self.isExplaining, self.showsProgress) = (isExplaining, showsProgress)
        report.seed = seed
        report.setup = setup
    }

    /// Sets the simulation whose counters the report contains.
    mutating func watch(_ pair: VirtualPair) { self.pair = pair }

    /// Records the descriptions of the dongles' controllers.
    mutating func note(tester: String?, subject: String?) {
        report.setup?.testerController = tester
        report.setup?.subjectController = subject
    }

    mutating func begin(rows: Int) {
        total = rows
        Console.line("  row  over     direction     phy       len  mtu      ms    kbit/s   ceiling       %  packets/event  resent  limit")
    }

    /// Displays the current measurement on a terminal.
    func announce(_ request: ThroughputRow.Request, repetition: String = "") {
        if showsProgress { return Console.complain("\(position(report.rows.count + 1)) \(Self.name(request))\(repetition)\(left)") }
        guard isatty(STDOUT_FILENO) == 1 else { return }
        Console.replaceLine("\(position(report.rows.count + 1)) \(Self.name(request))\(repetition) ...")
    }

    mutating func add(_ row: ThroughputRow, at now: Microseconds) throws {
        if isatty(STDOUT_FILENO) == 1 { Console.write("\r\u{1B}[K") }
        var row = row
        let elapsed = ContinuousClock.now - start
        row.wallMilliseconds = elapsed.milliseconds - report.wallSeconds * 1_000
        report.rows.append(row)
        stamp(now)
        Console.line(position(report.rows.count) + " " + Self.line(row))
        if let times = row.roundTrips { Console.line("       " + Self.roundTrips(times)) }
        if !row.repetitions.isEmpty { Console.line("       " + Self.spread(row.repetitions)) }
        if isExplaining || row.failure != nil { Console.line("       " + row.explanation) }
        try save()
    }

    mutating func finish(at now: Microseconds) throws {
        stamp(now)
        if let file { try file.write(report.json()) }
        try page?.write(ThroughputPage(report).text())
        try csv?.write(ThroughputTable.csv(report.rows))
        try markdown?.write(report.ladder.map(ThroughputTable.markdown(ladder:)) ?? ThroughputTable.markdown(report.rows))
        let speed = report.wallSeconds > 0 ? report.virtualSeconds / report.wallSeconds : 0
        let time = "\(Self.fixed(report.virtualSeconds, 1)) s on the air in \(Self.fixed(report.wallSeconds, 1)) s"
        Console.line(time + (pair == nil ? "" : ", \(Self.fixed(speed, 0)) times real time"))
        if stop.isRaised { Console.complain("stopped: \(report.rows.count) of \(total) rows were measured") }
    }

    /// A failure if a flow was incomplete or the subject refused it, a bench error if only the environment failed.
    var exitCode: ExitCode {
        let failed = report.rows.filter { $0.failure != nil }
        if failed.contains(where: { !$0.isEnvironment }) { return .fail }
        return failed.isEmpty && !stop.isRaised ? .pass : .bench
    }

    private mutating func stamp(_ now: Microseconds) {
        report.wallSeconds = (ContinuousClock.now - start).milliseconds / 1_000
        report.virtualSeconds = now.seconds
        guard let pair else { return }
        report.steps = pair.loop.steps
        report.transmissions = pair.simulation.transmissions
    }

    /// Saves the rows so far, if the file can be rewritten.
    private func save() throws {
        if let file, file.isReplaceable { try file.write(report.json()) }
    }

    // MARK: Ladder

    mutating func beginLadder() {
        total = LadderRung.all.count
        Console.line("rung                                          kbit/s  published  packets/event  assumed")
    }

    mutating func add(rung: LadderRung, _ row: ThroughputRow) throws {
        report.ladder = (report.ladder ?? []) + [rung]
        report.rows.append(row)
        let figure = rung.measured.map { Self.fixed($0, 1) } ?? "-"
        let packets = rung.packetsPerEvent.map { Self.fixed($0, 2) } ?? "-"
        let latency = rung.over == .request ? "host latency \(rung.hostLatencyEvents) events; " : ""
        Console.line(
            Self.left(rung.name, 44) + Self.right(figure, 8) + Self.right(Self.fixed(rung.published, 1), 11) + Self.right(packets, 15)
                + "  \(Self.fixed(rung.intervalMilliseconds, 1)) ms; " + latency + rung.note)
        if let failure = row.failure { Console.line("    " + failure) }
        try save()
    }

    // MARK: Text

    private func position(_ number: Int) -> String { "[" + Self.right("\(number)", "\(total)".count) + "/\(total)]" }

    /// - Parameter octets: data length of the link, once it is known.
    private static func name(_ request: ThroughputRow.Request, octets: Int? = nil) -> String {
        left(request.over.rawValue, 8) + left(request.direction.rawValue, 14)
            + left(request.packets?.rawValue.lowercased() ?? request.phy.rawValue, 9) + right("\(octets ?? request.dataLength)", 4)
            + right("\(request.mtu)", 5) + right(request.packets == nil ? fixed(request.interval.milliseconds, 2) : "-", 8)
    }

    private static func line(_ row: ThroughputRow) -> String {
        let figures =
            right(fixed(row.goodput, 1), 10) + right(fixed(row.ceiling?.perInterval ?? 0, 1), 10) + right(fixed(row.percent, 2), 8)
            + right(fixed(row.packetsPerEvent, 2), 15) + right(row.counters.map { "\($0.retransmissions)" } ?? "-", 8)
        let limit = row.failure == nil ? row.limit?.rawValue ?? "" : "FAILED"
        return name(row.request, octets: row.link?.octets) + figures + "  " + limit + (row.together.map { " (\($0))" } ?? "")
    }

    private static func spread(_ values: [Double]) -> String {
        let figures = RobustStatistics(values)
        return "\(values.count) times: median \(fixed(figures.median, 1)), MAD \(fixed(figures.medianAbsoluteDeviation, 2)), "
            + "p5 \(fixed(figures.percentile(5), 1)), p95 \(fixed(figures.percentile(95), 1)) kbit/s"
    }

    private static func roundTrips(_ times: RoundTrips) -> String {
        func milliseconds(_ value: UInt64) -> String { fixed(Double(value) / 1_000, 2) }
        return "\(times.count) round trips: median \(milliseconds(times.median)), p90 \(milliseconds(times.p90)), "
            + "p99 \(milliseconds(times.p99)), longest \(milliseconds(times.max)) ms"
    }

    /// The remaining time of the sweep, estimated from the measured rows.
    private var left: String {
        guard !report.rows.isEmpty else { return "" }
        let elapsed = (ContinuousClock.now - start).milliseconds / 1_000
        return ", about \(Self.fixed(elapsed / Double(report.rows.count) * Double(total - report.rows.count), 0)) s left"
    }

    private static func left(_ text: String, _ width: Int) -> String { text + String(repeating: " ", count: max(1, width - text.count)) }
    private static func right(_ text: String, _ width: Int) -> String { String(repeating: " ", count: max(1, width - text.count)) + text }
    private static func fixed(_ value: Double, _ digits: Int) -> String { String(format: "%.\(digits)f", value) }
}

extension Duration {
    fileprivate var milliseconds: Double { Double(components.seconds) * 1_000 + Double(components.attoseconds) / 1e15 }
}
