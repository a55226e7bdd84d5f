import BBThroughput
import BBTraffic

/// Compares two sweeps row by row. A difference counts if it exceeds the noise of both and the accepted threshold.
public struct ThroughputComparison: Sendable {
    /// Decrease in percent that is reported, and decrease that fails.
    public struct Thresholds: Sendable, Hashable {
        public var warn: Double
        public var fail: Double

        public init(warn: Double = 1.5, fail: Double = 2.5) {
            self.warn = warn
            self.fail = fail
        }
    }

    public enum Finding: String, Sendable, CaseIterable, Encodable {
        case same, better, slower, regression
        /// A drop that the machine's delays in the new measurement can explain.
        case inconclusive
        /// The row is only in the new file, or only in the base.
        case new, vanished
        /// A row that has lost its figure, or has one again.
        case broken, repaired
    }

    public struct Row: Sendable {
        public var name: String
        public var finding: Finding
        /// Medians in kbit/s.
        public var base: Double?
        public var now: Double?
        /// Difference to the base, in percent of the base.
        public var change: Double?
        /// Part of the change that noise can explain, in percent.
        public var band: Double?
        /// Limit of the flow, or the reason for the missing figure.
        public var reason: String?
    }

    /// Number of standard errors of a difference that counts as noise.
    static let certainty = 3.0

    /// The effect of the machine's delays on a flow, at most: the time itself, and the same again until the flow is full.
    static let delayFactor = 2.0

    public let rows: [Row]

    /// - Parameter thresholds: thresholds by row name.
    public init(_ base: ThroughputResults, _ now: ThroughputResults, thresholds: (String) -> Thresholds) {
        let before = Dictionary(base.rows.map { ($0.name, $0) }) { first, _ in first }
        let after = Set(now.rows.map(\.name))
        rows =
            now.rows.map { Self.row($0.name, before[$0.name], $0, thresholds($0.name)) }
            + base.rows.filter { !after.contains($0.name) }.map { Self.row($0.name, $0, nil, thresholds($0.name)) }
    }

    private static func row(
        _ name: String, _ base: ThroughputResults.Row?, _ now: ThroughputResults.Row?, _ thresholds: Thresholds
    ) -> Row {
        guard let base else { return Row(name: name, finding: .new, now: now?.figures.median) }
        guard let now else { return Row(name: name, finding: .vanished, base: base.figures.median) }
        switch (base.failure, now.failure) {
        case (nil, let failure?): return Row(name: name, finding: .broken, base: base.figures.median, reason: failure)
        case (_?, nil): return Row(name: name, finding: .repaired, now: now.figures.median)
        case (_?, let failure?): return Row(name: name, finding: .same, reason: failure)
        case (nil, nil): return measured(name, base, now, thresholds)
        }
    }

    private static func measured(
        _ name: String, _ base: ThroughputResults.Row, _ now: ThroughputResults.Row, _ thresholds: Thresholds
    ) -> Row {
        let (old, new) = (base.figures, now.figures)
        var row = Row(name: name, finding: .same, base: old.median, now: new.median, reason: now.limit)
        guard old.median > 0 else { return row }
        let change = (new.median - old.median) / old.median * 100
        let error = (old.medianError * old.medianError + new.medianError * new.medianError).squareRoot()
        let band = certainty * error / old.median * 100
        // No figure of a link is so small that its percentages have no end.
        guard change.isFinite, band.isFinite else { return row }
        (row.change, row.band) = (change, band)
        guard abs(change) > band else { return row }
        row.finding =
            change <= -thresholds.fail ? .regression : change <= -thresholds.warn ? .slower : change >= thresholds.warn ? .better : .same
        if [.regression, .slower].contains(row.finding), -change <= delayFactor * now.machineShare {
            row.finding = .inconclusive
            row.reason = "the machine did not serve the bench for \(Int(saturating: now.machineShare.rounded())) % of the time"
        }
        return row
    }
}

extension ThroughputSetup {
    /// Differences between set-ups that affect figures; date, build, host name and the label `build` do not.
    public func differences(from base: Self) -> [String] {
        let labels = Set((base.labels ?? [:]).keys).union((self.labels ?? [:]).keys).subtracting([Self.buildLabel]).sorted()
        return [
            Difference.text("tester", base.tester, tester), Difference.text("subject", base.subject, subject),
            Difference.text("the tester's controller", base.testerController, testerController),
            Difference.text("the subject's controller", base.subjectController, subjectController),
            Difference.text("seconds", base.seconds.map { "\($0)" }, seconds.map { "\($0)" }),
            Difference.text("packet error", base.packetError.map { "\($0)" }, packetError.map { "\($0)" }),
            Difference.text("event filling", base.eventFilling, eventFilling),
            Difference.text("exchanges", base.exchanges.map { "\($0)" }, exchanges.map { "\($0)" }, absent: "default"),
            Difference.text("buffers", base.buffers.map { "\($0)" }, buffers.map { "\($0)" }, absent: "default"),
        ].compactMap { $0 } + labels.compactMap { Difference.text("label \($0)", base.labels?[$0], self.labels?[$0]) }
    }
}
