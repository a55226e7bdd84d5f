/// Everybody who wants to hear of one kind of event, in the order in which they asked.
///
/// `Action` is the closure's type, so what is told may be a borrowed span. Telling the listeners allocates nothing. A listener that is added or removed
/// while the others are being told takes part, or no longer takes part, from the next event on.
public final class Listeners<Action> {
    /// Names one listener of one list.
    public struct Token: Sendable, Hashable {
        fileprivate let number: Int
    }

    private var actions: [(token: Token, action: Action)] = []
    private var last = 0

    public init() {}

    public var isEmpty: Bool { actions.isEmpty }

    @discardableResult
    public func add(_ action: Action) -> Token {
        last += 1
        let token = Token(number: last)
        actions.append((token, action))
        return token
    }

    /// Removes a listener; one that is not there changes nothing.
    public func remove(_ token: Token) { actions.removeAll { $0.token == token } }

    public func removeAll() { actions.removeAll() }

    /// Calls `call` with each listener.
    @inline(__always) public func tell(_ call: (Action) -> Void) {
        for entry in actions { call(entry.action) }
    }
}
