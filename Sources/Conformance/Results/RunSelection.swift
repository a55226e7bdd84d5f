/// The cases that a run was given before it took its shard of them. Shards belong together if their runs divided the same cases alike.
public struct RunSelection: Codable, Hashable, Sendable {
    /// The suites and cases on the command line; empty for all.
    public var filters: [String]
    /// The number of cases of all shards.
    public var count: Int
    /// Equal for equal cases, parameters and durations.
    public var digest: String

    /// - Parameters:
    ///   - parameters: the values of `--set`.
    ///   - durations: the durations that balance the shards, by case.
    public init(filters: [String], ids: [String], parameters: [String] = [], durations: [String: Double] = [:]) {
        (self.filters, count) = (filters, ids.count)
        let lines = Set(ids).sorted().map { id in durations[id].map { "\(id) \($0)" } ?? id } + ["set"] + parameters.sorted()
        digest = String(Self.hash(of: lines.joined(separator: "\n")), radix: 16)
    }

    /// The filters as on the command line.
    public var words: String { filters.isEmpty ? "all cases" : filters.joined(separator: " ") }

    /// FNV-1a. Results of different runs are told apart; nobody has to be kept from making two alike.
    private static func hash(of text: String) -> UInt64 {
        text.utf8.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x0000_0100_0000_01B3 }
    }
}
