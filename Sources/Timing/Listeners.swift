/// Everybody who wants to hear of one kind of event, in the order in which they asked.
///
/// `Action` is the closure's type, so what is told may be a borrowed span. Telling the listeners allocates nothing. A listener that is added or removed
/// while the others are being told takes part, or no longer takes part, from the next event on.
public final class Listeners<Action> {
    /// Names one listener of one list.
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

    /// Removes a listener; one that is not there changes nothing.
    @inlinable public func remove(_ token: Token) { actions.removeAll { $0.token == token } }

    @inlinable public func removeAll() { actions.removeAll() }

    /// Calls `call` with each listener.
    @inlinable public func tell(_ call: (Action) -> Void) {
        for entry in actions { call(entry.action) }
    }
}
