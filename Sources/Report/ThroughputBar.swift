/// One throughput row as the page draws it.
public struct ThroughputBar: Sendable {
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

    public init(label: String, group: String, goodput: Double, ceiling: Double, percent: Double, limit: String, detail: String = "") {
        self.label = label
        self.group = group
        self.goodput = goodput
        self.ceiling = ceiling
        self.percent = percent
        self.limit = limit
        self.detail = detail
    }
}
