import BBCases
import BBPackets
import BBTiming

/// Reassembles the reports of one event of a periodic advertising train. Core Vol 4, Part E, 7.7.65.15.
enum ReceiveTrain: NamedAction {
    static let name = "receive train"
    static let about = "joins the reports of a train until the data of one event is complete"
    static let handle = TypedArgument.number("handle", 0...0x0EFF, "Sync_Handle")
    static let limit = TypedArgument.number("seconds", 1...60, default: 5, "seconds to try")
    static var arguments: [ActionArgument] { [handle.declaration, limit.declaration] }
    /// The data, the number of its reports, the number of events truncated before, and whether the data is complete.
    static let results = ["data", "reports", "truncated", "complete"]

    static func run(_ context: ActionContext) async throws -> CaseRecord {
        let (log, side, wanted) = (context.bench.log, context.side, try context(handle))
        let deadline = min(context.deadline - .milliseconds(1), context.bench.loop.now + .seconds(try context(limit)))
        var (data, reports, truncated): ([UInt8], Int, Int) = ([], 0, 0)
        var start = context.since
        while let found = try await log.take(from: start, until: deadline, where: { $0.side == side && $0.name == report }) {
            start = found.index + 1
            let fields = PDUCodec.record(of: found)
            guard fields["Sync_Handle"]?.asNumber == wanted else { continue }
            data += fields["Data"]?.asOctets ?? []
            reports += 1
            switch fields["Data_Status"]?.asNumber {
            case 0: return result(data, reports, truncated, isComplete: true)
            case 1: continue
            default: (data, reports, truncated) = ([], 0, truncated + 1)
            }
        }
        return result([], reports, truncated, isComplete: false)
    }

    private static let report = HCIEvents.LEPeriodicAdvertisingReport.name

    private static func result(_ data: [UInt8], _ reports: Int, _ truncated: Int, isComplete: Bool) -> CaseRecord {
        CaseRecord([
            ("data", .octets(data)), ("reports", .number(reports)), ("truncated", .number(truncated)),
            ("complete", .number(isComplete ? 1 : 0)),
        ])
    }
}
