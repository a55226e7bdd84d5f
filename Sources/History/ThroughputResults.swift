import BBThroughput
import Foundation

/// Output of `bluebench throughput --json`, as far as needed for comparisons.
public struct ThroughputResults: Sendable, Decodable {
    public struct Row: Sendable, Decodable {
        public var over: String
        public var direction: String
        public var phy: String
        public var dataLength: Int
        public var mtu: Int
        public var interval: Double?
        public var isEncrypted: Bool?
        public var goodput: Double
        public var ceiling: Double
        public var limit: String?
        public var explanation: String?
        public var failure: String?
        /// Goodput of each repetition; nil if the row was measured once.
        public var repetitions: Repetitions?
        /// For `ping` and `request`.
        public var roundTrips: RoundTrips?
        /// For L2CAP channels on LE, and Enhanced ATT bearers.
        public var mps: Int?
        public var channels: Int?
        public var bearers: Int?
        /// For concurrent flows: the link number and the number of links; no link number for the sum.
        public var link: Int?
        public var links: Int?
        public var isBothWays: Bool?
        /// The sum of the machine's delays in ms; nil in virtual time.
        public var machineDelay: Double?
        public var window: Window?

        public struct Window: Sendable, Decodable {
            public var begin: Int64
            public var end: Int64

            private enum CodingKeys: String, CodingKey {
                case begin = "begin_us"
                case end = "end_us"
            }
        }

        private enum CodingKeys: String, CodingKey {
            case over, direction, phy, mtu, limit, explanation, failure, repetitions, link, links, window, mps, channels, bearers
            case machineDelay = "machine_delay_ms"
            case isBothWays = "both_ways"
            case dataLength = "data_length"
            case interval = "interval_ms"
            case isEncrypted = "encrypted"
            case roundTrips = "round_trip_us"
            case goodput = "goodput_kbps"
            case ceiling = "ceiling_kbps"
        }
    }

    public struct Repetitions: Sendable, Decodable {
        public var goodput: [Double]

        private enum CodingKeys: String, CodingKey {
            case goodput = "goodput_kbps"
        }
    }

    /// Set-up of the measurement; nil in files of older versions.
    public var setup: ThroughputSetup?
    public var rows: [Row]

    /// - Throws: `HistoryError` with the position of the error.
    public init(json: Data, name: String) throws(HistoryError) {
        do { self = try JSONDecoder().decode(Self.self, from: json) } catch { throw HistoryError(name, error) }
        for (index, row) in rows.enumerated() {
            let figures = [row.goodput, row.ceiling] + (row.repetitions?.goodput ?? [])
            guard let wrong = figures.first(where: { !(0...Self.mostKilobits ~= $0) }) else { continue }
            throw HistoryError("\(name): rows.\(index): \(wrong) kbit/s is not possible on a link")
        }
    }

    /// Upper limit in kbit/s, far above any radio or pipe.
    private static let mostKilobits = 1e9
}

extension ThroughputResults.Row {
    /// Requested parameters in one line, the same in every file.
    public var name: String {
        let time = interval.map { " \(Self.short($0)) ms" } ?? ""
        let ways = (isEncrypted == true ? " encrypted" : "") + (isBothWays == true ? " both ways" : "")
        let frames = mps.map { " mps \($0)" + (channels.map { $0 > 1 ? " x \($0)" : "" } ?? "") } ?? ""
        let width = bearers.map { " bearers \($0)" } ?? ""
        let place = links.map { links in link.map { " link \($0)/\(links)" } ?? " sum of \(links)" } ?? ""
        return "\(over) \(direction) \(phy) \(dataLength)/\(mtu)\(frames)\(width)\(time)\(ways)\(place)"
    }

    /// The percentage of the measurement in which the machine did not serve the bench.
    var machineShare: Double {
        guard let machineDelay, let window, window.end > window.begin else { return 0 }
        return max(0, min(100, machineDelay * 1_000 / (Double(window.end) - Double(window.begin)) * 100))
    }

    /// Statistics of all measurements of the row.
    public var figures: RobustStatistics { RobustStatistics(repetitions?.goodput ?? [goodput]) }

    private static func short(_ value: Double) -> String { Int(exactly: value).map { "\($0)" } ?? "\(value)" }
}

/// A results file or history is invalid or cannot be used.
public struct HistoryError: Error, Sendable, CustomStringConvertible {
    public var description: String
    /// The disk or another program is at fault, not the caller.
    public var isEnvironment = false

    init(_ text: String, isEnvironment: Bool = false) {
        description = text
        self.isEnvironment = isEnvironment
    }

    init(_ name: String, _ error: any Error) {
        guard let error = error as? DecodingError else {
            description = "\(name): \(error)"
            return
        }
        switch error {
        case .keyNotFound(let key, let context): description = "\(name): \(Self.place(context))'\(key.stringValue)' is missing"
        case .typeMismatch(_, let context), .valueNotFound(_, let context):
            description = "\(name): \(Self.place(context))has another type than results have"
        case .dataCorrupted(let context):
            description = "\(name) is not JSON" + (context.codingPath.isEmpty ? "" : " of results: \(Self.place(context))cannot be read")
        @unknown default: description = "\(name): \(error)"
        }
    }

    private static func place(_ context: DecodingError.Context) -> String {
        let path = context.codingPath.map { key in key.intValue.map { "\($0)" } ?? key.stringValue }
        return path.isEmpty ? "" : path.joined(separator: ".") + ": "
    }
}
