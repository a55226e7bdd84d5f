import ArgumentParser
import Synchronization

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// The results of trials that run on several threads. A signal ends the process, after the results so far have been written.
final class TrialResults<Result: Sendable>: Sendable {
    private let results = Mutex<[Result]>([])

    /// Returns the number of results.
    @discardableResult
    func add(_ result: Result) -> Int {
        results.withLock { results in
            results.append(result)
            return results.count
        }
    }

    /// Writes the results so far at a signal. The lock is kept until the process has ended, so that nothing is written twice.
    func onStop(_ signals: SignalHandler, of count: Int, write: @escaping @Sendable ([Result]) throws -> Void) {
        signals.onStop { [self] in
            results.withLock { results in
                do { try write(results) } catch { Console.complain("\(CommandFailure(error).message)") }
                Console.complain("interrupted: \(results.count) of \(count) were tried")
                _exit(ExitCode.bench.rawValue)
            }
        }
    }

    /// Writes the results at the end, undisturbed by a signal.
    func finish(_ write: ([Result]) throws -> Void) throws { try results.withLock { try write($0) } }
}
