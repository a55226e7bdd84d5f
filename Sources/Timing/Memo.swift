import Synchronization

/// Values that are computed when their keys are first asked for.
package final class Memo<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    private let values = Mutex<[Key: Value]>([:])

    package init() {}

    /// Returns the value of a key. It is computed without a lock, so that it may ask for others; two threads may compute the same one.
    package func callAsFunction(_ key: Key, _ make: () -> Value) -> Value {
        if let known = values.withLock({ $0[key] }) { return known }
        let value = make()
        values.withLock { $0[key] = value }
        return value
    }
}
