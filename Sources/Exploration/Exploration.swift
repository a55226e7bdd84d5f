import BBSimulation
import BBTiming
import Synchronization

/// A search over many paths on several threads.
public struct Exploration: Sendable {
    /// The state of the search.
    public struct Progress: Sendable {
        public var done = 0
        public var total: Int
        public var runs = 0
        /// The first violation of each invariant, by role and name.
        public var findings: [Explorer.Finding] = []
    }

    public var setup: Explorer.Setup
    public var paths: [ExploredPath]
    /// True if each course is also run with each packet lost in turn.
    public var losesPackets: Bool

    public init(_ setup: Explorer.Setup, paths: [ExploredPath], losesPackets: Bool) {
        (self.setup, self.paths, self.losesPackets) = (setup, paths, losesPackets)
    }

    /// Runs the paths until all are done or `isOver` returns true, and shrinks what was found.
    ///
    /// - Parameter report: called after each path, on any thread, one at a time.
    public func run(
        threads: Int, isOver: @escaping @Sendable () -> Bool = { false }, report: @escaping @Sendable (Progress) -> Void = { _ in }
    ) throws -> Progress {
        let state = Mutex((progress: Progress(total: paths.count), seen: [Violation: Int]()))
        let explorer = Explorer(setup)
        let work: @Sendable (inout Explorer, ExploredPath) throws -> Bool = { explorer, path in
            guard !isOver() else { return false }
            let (runs, found) = try explorer.explore(path, losses: losesPackets)
            var new: [(ExploredPath, Violation)] = []
            state.withLock { state in
                state.progress.done += 1
                state.progress.runs += runs
                for (path, violation) in found {
                    if let index = state.seen[violation.withoutMessage] {
                        state.progress.findings[index].count += 1
                    } else {
                        state.seen[violation.withoutMessage] = state.progress.findings.count
                        state.progress.findings.append(Explorer.Finding(path: path, violation: violation, count: 1))
                        new.append((path, violation))
                    }
                }
                report(state.progress)
            }
            for (path, violation) in new {
                let shortest = try explorer.shrink(path, violation)
                state.withLock { state in
                    guard let index = state.seen[violation.withoutMessage] else { return }
                    (state.progress.findings[index].path, state.progress.findings[index].violation) = shortest
                }
            }
            return true
        }
        _ = try ParallelWork.map(paths, threads: threads, make: { explorer }, report: { _ in }, work: work)
        return state.withLock { $0.progress }
    }
}
