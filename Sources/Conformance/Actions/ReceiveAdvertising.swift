import BBCases
import BBPackets
import BBTiming

/// Reassembles extended advertising reports. Core Vol 4, Part E, 7.7.65.13.
enum ReceiveAdvertising: NamedAction {
    static let name = "receive advertising"
    static let about = "joins the extended reports of one advertiser until its data is complete"
    static let address = TypedArgument.address("address", "the advertiser's")
    static let response = TypedArgument.number("response", 0...1, default: 0, "1 for scan responses")
    static let limit = TypedArgument.number("seconds", 1...60, default: 5, "seconds to try")
    static var arguments: [ActionArgument] { [address.declaration, response.declaration, limit.declaration] }
    /// The data, its SID, the number of its reports, the number of chains truncated before, and whether the data is complete.
    static let results = ["data", "sid", "reports", "truncated", "complete"]

    static func run(_ context: ActionContext) async throws -> CaseRecord {
        let (log, side) = (context.bench.log, context.side)
        let (wanted, isResponse) = (try context(address), try context(response) == 1)
        let deadline = min(context.deadline - .milliseconds(1), context.bench.loop.now + .seconds(try context(limit)))
        var chain = Chain()
        // The first part may precede the answer to the command that started the advertising.
        var start = context.since
        while let found = try await log.take(from: start, until: deadline, where: { $0.side == side && $0.name == report }) {
            start = found.index + 1
            for report in reports(of: found) where report.address == wanted && report.type.isScanResponse == isResponse {
                if chain.add(report) { return chain.result(isComplete: true) }
            }
        }
        return chain.result(isComplete: false)
    }

    private static let report = HCIEvents.LEExtendedAdvertisingReport.name

    private struct Report {
        var type: EventType
        var address: UInt64?
        var sid: Int
        var data: [UInt8]
    }

    private struct EventType {
        var bits: Int
        var isScanResponse: Bool { bits & 0x08 != 0 }
        /// Bits 5 and 6: 0 complete, 1 more data to come, 2 truncated.
        var dataStatus: Int { bits >> 5 & 3 }
    }

    private struct Chain {
        var data: [UInt8] = []
        var reports = 0
        var truncated = 0
        var sid = 0

        /// Adds a fragment.
        ///
        /// - Returns: true if the data is complete.
        mutating func add(_ report: Report) -> Bool {
            data += report.data
            reports += 1
            sid = report.sid
            switch report.type.dataStatus {
            case 0: return true
            case 1: return false
            default:
                (data, reports, truncated) = ([], 0, truncated + 1)
                return false
            }
        }

        func result(isComplete: Bool) -> CaseRecord {
            CaseRecord([
                ("data", .octets(isComplete ? data : [])), ("sid", .number(sid)), ("reports", .number(reports)),
                ("truncated", .number(truncated)), ("complete", .number(isComplete ? 1 : 0)),
            ])
        }
    }

    private static func reports(of observation: Observation) -> [Report] {
        guard case .list(let rows)? = PDUCodec.record(of: observation)["Reports"] else { return [] }
        return rows.compactMap { row in
            guard case .record(let fields) = row, let type = fields["Event_Type"]?.asNumber else { return nil }
            return Report(
                type: EventType(bits: type), address: fields["Address"]?.asDeviceAddress, sid: fields["Advertising_SID"]?.asNumber ?? 0,
                data: fields["Data"]?.asOctets ?? [])
        }
    }
}
