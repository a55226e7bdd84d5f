import BBPackets
import BBTiming

extension ThroughputBench {
    /// Measures concurrent flows: one link to each subject, and both directions if the row requests it.
    ///
    /// It does not throw; errors are reported in the rows.
    ///
    /// - Returns: a row for each flow, link by link, and one for their sum.
    public func measureTogether(_ request: ThroughputRow.Request, seconds: Double) async -> [ThroughputRow] {
        let benches = [self] + others
        var setups: [LinkSetup] = []
        var rows: [ThroughputRow] = []
        do {
            for bench in benches {
                (bench.limits, bench.timeout) = (limits, timeout)
                setups.append(try await LinkSetup(bench, request))
            }
            rows = try await flows(zip(benches, setups).map { (bench: $0, setup: $1) }, seconds)
        } catch {
            rows = benches.indices.flatMap { link in
                (request.isBothWays ? [request, request.turned] : [request]).map { request in
                    var row = ThroughputRow(request)
                    row.place = ThroughputRow.Place(link: link + 1, links: benches.count)
                    note(error, in: &row)
                    return row
                }
            }
        }
        for setup in setups { await setup.end() }
        reset()
        return rows + [ThroughputRow(sumOf: rows)].compactMap(\.self)
    }

    private func flows(_ links: [(bench: ThroughputBench, setup: LinkSetup)], _ seconds: Double) async throws -> [ThroughputRow] {
        let flows = links.enumerated().flatMap { index, link in
            [link.setup, link.setup.turned].compactMap(\.self).map { (link: index + 1, bench: link.bench, setup: $0) }
        }
        let meeting = PeerDiscovery(loop, of: flows.count)
        let running = flows.map { link, bench, setup in
            loop.start {
                var row = ThroughputRow(setup.request)
                row.link = setup.parameters
                row.place = ThroughputRow.Place(link: link, links: links.count)
                do {
                    try await RowMeasurement(bench, setup, seconds: seconds, meeting: meeting).run(&row)
                } catch {
                    if row.end == .zero { meeting.leave() }
                    bench.note(error, in: &row)
                }
                if links.count > 1 { row.explainLinks(bench.limits, setup.replies) }
                return row
            }
        }
        var rows: [ThroughputRow] = []
        for flow in running { rows.append(try await flow.value()) }
        return rows
    }
}
