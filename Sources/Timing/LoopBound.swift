/// A value that belongs to a loop, to be carried through a place that demands `Sendable`: a task's closure, an event from another thread.
///
/// `@unchecked Sendable`: the value is reached through `value` and `init` only, and both check that they are on the loop's thread. Which thread calls is
/// fixed by our code, never by a peer's input. The box does not check where its last copy ends; posted closures end on the loop.
public struct LoopBound<Value>: @unchecked Sendable {
    private let held: Value
    private let loop: RunLoop

    public init(_ value: Value, to loop: RunLoop) {
        loop.checkIsolated()
        held = value
        self.loop = loop
    }

    /// Only on the loop.
    public var value: Value {
        loop.checkIsolated()
        return held
    }
}
