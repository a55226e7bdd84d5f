/// A part of a run's cases, for distribution over several machines.
public struct Shard: Sendable, Hashable, CustomStringConvertible {
    /// The index, from 1.
    public let index: Int
    public let count: Int

    public var description: String { "\(index)/\(count)" }

    /// Reads a shard such as `2/4`; returns nil for an invalid text.
    public init?(_ text: String) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false).map { Int($0) }
        guard parts.count == 2, let index = parts[0], let count = parts[1], 1...10_000 ~= count, 1...count ~= index else { return nil }
        (self.index, self.count) = (index, count)
    }

    /// Returns the cases of this part. Every case is in exactly one part, in any order of `ids`.
    ///
    /// - Parameter durations: the durations of cases by id, which balance the parts. A case without an entry has the median duration.
    /// If empty, the cases are distributed in turn.
    public func part(of ids: [String], durations: [String: Double] = [:]) -> Set<String> {
        let ids = Set(ids).sorted()
        let known = ids.compactMap { durations[$0] }.sorted()
        guard !known.isEmpty else { return Set(ids.indices.filter { $0 % count == index - 1 }.map { ids[$0] }) }
        let usual = known[known.count / 2]
        var loads = [Double](repeating: 0, count: count)
        var counts = [Int](repeating: 0, count: count)
        var part: Set<String> = []
        // In descending order of duration, each to the part with the shortest total.
        for (id, duration) in ids.map({ ($0, durations[$0] ?? usual) }).sorted(by: { ($1.1, $0.0) < ($0.1, $1.0) }) {
            let least = loads.indices.min { (loads[$0], counts[$0], $0) < (loads[$1], counts[$1], $1) } ?? 0
            loads[least] += duration
            counts[least] += 1
            if least == index - 1 { part.insert(id) }
        }
        return part
    }
}

/// The parts of one run that results hold, such as `1/3, 3/3`.
public struct ShardSet: Sendable, Hashable, CustomStringConvertible {
    /// The number of parts of the whole run.
    public let count: Int
    public private(set) var indices: Set<Int>

    public var description: String { indices.sorted().map { "\($0)/\(count)" }.joined(separator: ", ") }

    /// The parts that are not there.
    public var missing: [Int] { (1...count).filter { !indices.contains($0) } }

    /// Reads shards of one run, separated by commas; returns nil for an invalid text.
    public init?(_ text: String) {
        let shards = text.split(separator: ",").map { Shard(String($0.drop { $0 == " " })) }
        guard let first = shards.first.flatMap(\.self), shards.allSatisfy({ $0?.count == first.count }) else { return nil }
        (count, indices) = (first.count, Set(shards.compactMap { $0?.index }))
    }

    public mutating func formUnion(_ other: ShardSet) { indices.formUnion(other.indices) }

    /// `shard 2 of 3 is missing`; nil if all are there.
    public var lack: String? {
        guard let last = missing.last else { return nil }
        let others = missing.dropLast().map(String.init).joined(separator: ", ")
        return others.isEmpty ? "shard \(last) of \(count) is missing" : "shards \(others) and \(last) of \(count) are missing"
    }
}
