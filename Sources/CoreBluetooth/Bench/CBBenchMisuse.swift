import Foundation
import Synchronization

/// A call of a program that had no effect, or less than it seems: a line that a phone printed about it.
public struct CBBenchMisuse: Error, Sendable, Hashable, CustomStringConvertible {
    /// Name of the phone.
    public let phone: String
    /// Such as `API MISUSE: ...`.
    public let line: String

    public var description: String { "\(phone): \(line)" }
}

/// The misuses of all phones of a bench, from any thread.
final class Misuses: Sendable {
    private struct State {
        var list: [CBBenchMisuse] = []
        var onMisuse: (@Sendable (CBBenchMisuse) -> Void)?
    }

    private let state = Mutex(State())

    var list: [CBBenchMisuse] { state.withLock(\.list) }
    var onMisuse: (@Sendable (CBBenchMisuse) -> Void)? {
        get { state.withLock(\.onMisuse) }
        set { state.withLock { $0.onMisuse = newValue } }
    }

    func add(_ line: String, of phone: String) {
        let misuse = CBBenchMisuse(phone: phone, line: line)
        let onMisuse = state.withLock { state in
            state.list.append(misuse)
            return state.onMisuse
        }
        onMisuse?(misuse)
    }
}

extension CBBench {
    /// The calls of programs that had no effect, or less than it seems, on all phones so far.
    public var misuses: [CBBenchMisuse] { found.list }

    /// Called on any thread with each misuse, also without `strict`: a test records an issue with it.
    public var onMisuse: (@Sendable (CBBenchMisuse) -> Void)? {
        get { found.onMisuse }
        set { found.onMisuse = newValue }
    }

    /// Checks that no program has misused Core Bluetooth so far.
    ///
    /// - Throws: the first misuse, which fails a test of any framework.
    public func check() throws { if let first = misuses.first { throw first } }
}
