/// A value that belongs to a loop, to be carried through a place that demands `Sendable`: a task's closure, an event from another thread.
///
/// `@unchecked Sendable`: the value is touched by the loop's own thread only, which each access checks. The last box should end there, too.
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
