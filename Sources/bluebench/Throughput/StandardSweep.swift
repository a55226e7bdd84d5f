import BBPackets
import BBReport
import BBSessions
import BBThroughput
import BBTraffic
import Foundation

/// The throughput rows that a report displays.
enum StandardSweep {
    private static var plan: SweepPlan {
        var plan = SweepPlan()
        plan.over = [.notify, .write, .l2cap, .rfcomm]
        plan.packets = PacketFamily.allCases.flatMap(\.types)
        plan.phys = LinkPHY.allCases
        plan.intervals = [15_000, 30_000]
        plan.encryption = [false, true]
        plan.seconds = 1
        return plan
    }

    /// Measures the rows between two virtual devices.
    ///
    /// - Parameter path: the path of the rows in JSON.
    static func run(seed: UInt64, json path: String?) throws -> [ThroughputBar] {
        var settings = VirtualPair.Settings()
        settings.seed = seed
        (settings.tester.profile, settings.subject.profile) = (.dual, .dual)
        let pair = try VirtualPair(settings)
        let plan = plan
        let rows = try pair.loop.run {
            try await pair.bench.start()
            var rows: [ThroughputRow] = []
            for request in plan.rows { rows.append(await pair.bench.measure(request, seconds: plan.seconds)) }
            return rows
        }
        if let path {
            var report = ThroughputReport(virtualSeconds: pair.loop.now.seconds, rows: rows)
            report.seed = seed
            try OutputFile(path).write(report.json())
        }
        return rows.map { ThroughputBar($0) }
    }
}
