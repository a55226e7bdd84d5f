import Packets
import Throughput

/// One throughput row as the page draws it.
public struct ThroughputBar: Sendable {
    /// A part of what the air could carry that did not arrive.
    public struct Missing: Sendable {
        /// The name of a `Limit`.
        public var cause: String
        public var kbps: Double
        public var text: String
    }

    /// `notify 2m 251/247`.
    public var label: String
    /// What rows are grouped by: the connection interval, say.
    public var group: String
    public var goodput: Double
    public var ceiling: Double
    public var percent: Double
    /// What keeps the goodput from being more.
    public var limit: String
    public var detail: String
    /// What flows, without PHY and interval: `notify 251/247`.
    public var flow = ""
    public var phy = ""
    /// In milliseconds; nil over BR/EDR, which has none, and of one of several flows, whose sum stands for them.
    public var interval: Double?
    public var missing: [Missing] = []

    static let failed = "failed"

    /// Goodput and what is missing.
    var whole: Double { missing.reduce(goodput) { $0 + $1.kbps } }

    public init(label: String, group: String, goodput: Double, ceiling: Double, percent: Double, limit: String, detail: String = "") {
        self.label = label
        self.group = group
        self.goodput = goodput
        self.ceiling = ceiling
        self.percent = percent
        self.limit = limit
        self.detail = detail
    }

    public init(_ row: ThroughputRow) {
        let request = row.request
        let isClassic = request.packets != nil
        let shape =
            "\(request.dataLength)/\(request.mtu)" + (request.isEncrypted ? ", encrypted" : "") + (row.together.map { ", \($0)" } ?? "")
        let phy = request.packets?.rawValue ?? request.phy.rawValue
        self.init(
            label: "\(request.over.rawValue) \(phy) \(shape)", group: isClassic ? "BR/EDR" : "\(request.interval.milliseconds) ms",
            goodput: row.goodput, ceiling: row.ceiling?.perInterval ?? 0, percent: row.percent,
            limit: row.failure == nil ? row.limit?.rawValue ?? "" : Self.failed, detail: row.explanation)
        flow = "\(request.over.rawValue) \(shape)"
        self.phy = phy
        interval = isClassic || row.place?.link != nil ? nil : request.interval.milliseconds
        missing = row.missing.map { Missing(cause: $0.cause.rawValue, kbps: $0.kbps, text: $0.text) }
    }
}
