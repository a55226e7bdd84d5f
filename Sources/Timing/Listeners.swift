/// Listeners for one kind of event, called in the order in which they were added.
///
/// `Action` is the type of the closure, so that arguments may be borrowed spans. Calling listeners does not allocate. Listeners added or
/// removed during a call take effect with the next event.
public final class Listeners<Action> {
    /// Identifies a listener.
    public struct Token: Sendable, Hashable {
        @usableFromInline let number: Int
        @inlinable init(number: Int) { self.number = number }
    }

    @usableFromInline var actions: [(token: Token, action: Action)] = []
    @usableFromInline var last = 0

    @inlinable public init() {}

    @inlinable public var isEmpty: Bool { actions.isEmpty }

    @inlinable @discardableResult
    public func add(_ action: Action) -> Token {
        last += 1
        let token = Token(number: last)
        actions.append((token, action))
        return token
    }

    /// Removes a listener; has no effect if it was already removed.
    @inlinable public func remove(_ token: Token) { actions.removeAll { $0.token == token } }

    @inlinable public func removeAll() { actions.removeAll() }

    /// Calls `call` with each listener.
    @inlinable public func tell(_ call: (Action) -> Void) {
        for entry in actions { call(entry.action) }
    }
}
