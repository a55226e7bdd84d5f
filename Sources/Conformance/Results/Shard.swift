/// One of several parts of a run's cases, each of which may run on another machine.
public struct Shard: Sendable, Hashable, CustomStringConvertible {
    /// From 1.
    public let index: Int
    public let count: Int

    public var description: String { "\(index)/\(count)" }

    /// Reads `2/4`; nil for what is no part.
    public init?(_ text: String) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false).map { Int($0) }
        guard parts.count == 2, let index = parts[0], let count = parts[1], 1...10_000 ~= count, 1...count ~= index else { return nil }
        (self.index, self.count) = (index, count)
    }

    /// The cases of this part. Every case is in exactly one of the parts, whatever the order of `ids` is.
    ///
    /// - Parameter durations: how long cases took, by id: the parts become about equally long. A case that is not there counts as the median of those
    ///   that are. Without any, the cases go to the parts in turn.
    public func part(of ids: [String], durations: [String: Double] = [:]) -> Set<String> {
        let ids = Set(ids).sorted()
        let known = ids.compactMap { durations[$0] }.sorted()
        guard !known.isEmpty else { return Set(ids.indices.filter { $0 % count == index - 1 }.map { ids[$0] }) }
        let usual = known[known.count / 2]
        var loads = [Double](repeating: 0, count: count)
        var counts = [Int](repeating: 0, count: count)
        var part: Set<String> = []
        // The longest first, each to the part that has least to do.
        for (id, duration) in ids.map({ ($0, durations[$0] ?? usual) }).sorted(by: { ($1.1, $0.0) < ($0.1, $1.0) }) {
            let least = loads.indices.min { (loads[$0], counts[$0], $0) < (loads[$1], counts[$1], $1) } ?? 0
            loads[least] += duration
            counts[least] += 1
            if least == index - 1 { part.insert(id) }
        }
        return part
    }
}
