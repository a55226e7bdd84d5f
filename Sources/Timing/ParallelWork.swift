import Dispatch
import Synchronization

/// Independent work items, processed on several threads.
public enum ParallelWork {
    private struct Progress<Outcome> {
        var next = 0
        var results: [Outcome?]
        var reported = 0
        var failure: (any Error)?

        mutating func take(of count: Int) -> Int? {
            guard next < count, failure == nil else { return nil }
            next += 1
            return next - 1
        }

        mutating func keep(_ result: Outcome, at index: Int, _ report: (Outcome) -> Void) {
            results[index] = result
            while reported < results.count, let ready = results[reported] {
                report(ready)
                reported += 1
            }
        }
    }

    /// Processes items on several threads.
    ///
    /// - Parameters:
    ///   - make: creates the state of one thread.
    ///   - report: called with each result in the order of the items, one at a time.
    ///   - work: processes one item.
    public static func map<Item: Sendable, Worker, Outcome: Sendable>(
        _ items: [Item], threads: Int, make: @escaping @Sendable () throws -> Worker, report: @escaping @Sendable (Outcome) -> Void,
        work: @escaping @Sendable (inout Worker, Item) throws -> Outcome
    ) throws -> [Outcome] {
        let progress = Mutex(Progress<Outcome>(results: Array(repeating: nil, count: items.count)))
        DispatchQueue.concurrentPerform(iterations: max(1, min(threads, items.count))) { _ in
            do {
                var worker = try make()
                while let index = progress.withLock({ $0.take(of: items.count) }) {
                    let result = try work(&worker, items[index])
                    progress.withLock { $0.keep(result, at: index, report) }
                }
            } catch {
                progress.withLock { $0.failure = $0.failure ?? error }
            }
        }
        return try progress.withLock { progress in
            if let failure = progress.failure { throw failure }
            return progress.results.compactMap(\.self)
        }
    }
}
