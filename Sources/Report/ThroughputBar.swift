import BBPackets
import BBThroughput
import BBTraffic

/// One throughput row as drawn on the page.
public struct ThroughputBar: Sendable {
    /// A part of the theoretical maximum that was lost.
    public struct Missing: Sendable {
        /// Name of a `Limit`.
        public var cause: String
        public var kbps: Double
        public var text: String
    }

    /// `notify 2m 251/247`.
    public var label: String
    /// Group of the row, for example the connection interval.
    public var group: String
    public var goodput: Double
    public var ceiling: Double
    public var percent: Double
    /// Limit of the goodput.
    public var limit: String
    public var detail: String
    /// Flow without PHY and interval: `notify 251/247`.
    public var flow = ""
    public var phy = ""
    /// In milliseconds; nil over BR/EDR, and for one of several concurrent flows, which are represented by their sum.
    public var interval: Double?
    public var missing: [Missing] = []

    static let failed = "failed"

    /// Sum of goodput and losses.
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
