import Throughput

/// Two sweeps row by row: a difference counts beyond the noise of both and beyond what is accepted.
public struct ThroughputComparison: Sendable {
    /// How much less than before is told of, and how much fails, in per cent.
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
        /// In the new file only, or in the base only.
        case new, vanished
        /// A row without a figure now, or then.
        case broken, repaired
    }

    public struct Row: Sendable {
        public var name: String
        public var finding: Finding
        /// kbit/s, medians.
        public var base: Double?
        public var now: Double?
        /// Of the base, in per cent.
        public var change: Double?
        /// What noise alone makes in such a change, in per cent.
        public var band: Double?
        /// What limited the flow, or why it has no figure.
        public var reason: String?
    }

    /// Standard errors of a difference that noise stays within.
    static let certainty = 3.0

    public let rows: [Row]

    /// - Parameter thresholds: by the row's name.
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
        (row.change, row.band) = (change, band)
        guard abs(change) > band else { return row }
        row.finding =
            change <= -thresholds.fail ? .regression : change <= -thresholds.warn ? .slower : change >= thresholds.warn ? .better : .same
        return row
    }
}

extension ThroughputSetup {
    /// In what two set-ups differ that decides about figures; the date, the build, the host's name and the label `build` do not.
    public func differences(from base: Self) -> [String] {
        let labels = Set((base.labels ?? [:]).keys).union((self.labels ?? [:]).keys).subtracting([Self.buildLabel]).sorted()
        return [
            Difference.text("tester", base.tester, tester), Difference.text("subject", base.subject, subject),
            Difference.text("the tester's controller", base.testerController, testerController),
            Difference.text("the subject's controller", base.subjectController, subjectController),
            Difference.text("seconds", base.seconds.map { "\($0)" }, seconds.map { "\($0)" }),
            Difference.text("packet error", base.packetError.map { "\($0)" }, packetError.map { "\($0)" }),
            Difference.text("event filling", base.eventFilling, eventFilling),
            Difference.text("exchanges", base.exchanges.map { "\($0)" }, exchanges.map { "\($0)" }),
            Difference.text("buffers", base.buffers.map { "\($0)" }, buffers.map { "\($0)" }),
        ].compactMap { $0 } + labels.compactMap { Difference.text("label \($0)", base.labels?[$0], self.labels?[$0]) }
    }
}
