import BBPackets
import BBTiming
import BBTraffic

extension ThroughputBench {
    /// Measures an LE flow concurrently with a BR/EDR flow between the same two controllers.
    ///
    /// It does not throw; errors are reported in the rows.
    public func measure(_ request: ThroughputRow.Request, beside other: ThroughputRow.Request, seconds: Double) async -> [ThroughputRow] {
        var (row, otherRow) = (ThroughputRow(request), ThroughputRow(other))
        do {
            let setup = try await LinkSetup(self, request)
            row.link = setup.parameters
            do {
                let classic = try await ClassicLinkSetup(self, other)
                otherRow = try await measureBoth(&row, setup, beside: classic, seconds: seconds)
                await classic.end()
            } catch {
                note(error, in: &otherRow)
            }
            await setup.end()
        } catch {
            note(error, in: &row)
        }
        reset()
        row.explainSharing()
        otherRow.explainSharing()
        return [row, otherRow]
    }

    /// Counts the BR/EDR flow within the span of the LE flow; it ends later.
    private func measureBoth(_ row: inout ThroughputRow, _ setup: LinkSetup, beside classic: ClassicLinkSetup, seconds: Double) async throws
        -> ThroughputRow
    {
        let isOver = StopFlag()
        let beside = loop.start { [self] in
            var row = ThroughputRow(classic.request)
            try await ClassicRowMeasurement(self, classic, seconds: seconds / 2).run(&row) { !isOver.isRaised }
            return row
        }
        do {
            try await RowMeasurement(self, setup, seconds: seconds).run(&row)
        } catch {
            note(error, in: &row)
        }
        isOver.raise()
        return try await beside.value()
    }
}

extension ThroughputRow {
    /// Attributes missing goodput to the other transport.
    fileprivate mutating func explainSharing() {
        guard failure == nil, let ceiling, goodput < ceiling.perInterval * Explanation.reached else { return }
        limit = .radio
        missing = [Missing(cause: .radio, kbps: ((ceiling.perInterval - goodput) * 10).rounded() / 10, text: Limit.radio.text)]
    }
}
