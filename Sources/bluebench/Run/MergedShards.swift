import BBConformance

/// The shards among runs that are merged.
struct MergedShards {
    /// The shards of the runs so far; nil if no run is one.
    private(set) var found: ShardSet?
    private var first = ""
    /// The cases that were divided, and the first run that says so; nil if none does.
    private(set) var selection: RunSelection?
    private var selected = ""
    /// The cases of the shards, and of each run with all cases.
    private var cases: Set<String> = []
    private var whole: [Set<String>] = []

    /// - Throws: a usage error for shards of runs that were divided differently.
    mutating func add(_ part: ResultsFile) throws {
        let ids = Set(part.result.cases.map(\.id))
        guard let shards = part.result.shard.flatMap(ShardSet.init) else {
            whole.append(ids)
            return
        }
        cases.formUnion(ids)
        if selection == nil { (selection, selected) = (part.result.selection, part.path) }
        guard let known = found else {
            (found, first) = (shards, part.path)
            return
        }
        guard known.count == shards.count else {
            throw CommandFailure(.usage, "\(part.path) is shard \(shards), \(first) is shard \(known): not shards of one run")
        }
        try check(part)
        found?.formUnion(shards)
    }

    /// - Throws: a usage error if the run divided other cases, or divided them otherwise.
    private func check(_ part: ResultsFile) throws {
        guard let one = selection, let other = part.result.selection, one != other else { return }
        guard one.filters == other.filters else {
            throw CommandFailure(
                .usage, "\(part.path) is a shard of \(other.words), \(selected) a shard of \(one.words): not shards of one run")
        }
        let numbers = one.count == other.count ? "" : " (\(other.count) and \(one.count))"
        throw CommandFailure(
            .usage,
            "\(part.path) and \(selected) are shards of different cases\(numbers): not shards of one run; "
                + "--cases, --tag, --covers, --ics, --set and --durations must be the same")
    }

    /// The missing shards in words; nil if all are there, or a run without shards has all of their cases.
    var lack: String? {
        let isWhole = whole.contains { $0.isSuperset(of: cases) && $0.count > cases.count }
        return isWhole ? nil : found?.lack
    }
}
