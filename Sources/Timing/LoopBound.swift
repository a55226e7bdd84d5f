/// Carries a value that belongs to a loop through an API that requires `Sendable`: a task's closure, or an event from another thread.
///
/// `@unchecked Sendable`: the value is accessible only through `value` and `init`, and both check that they run on the loop's thread. The
/// calling thread depends on our code only, never on input of a peer. The box does not check where its last copy is released; posted
/// closures are released on the loop.
public struct LoopBound<Value>: @unchecked Sendable {
    private let held: Value
    private let loop: RunLoop

    public init(_ value: Value, to loop: RunLoop) {
        loop.checkIsolated()
        held = value
        self.loop = loop
    }

    /// Accessible on the loop only.
    public var value: Value {
        loop.checkIsolated()
        return held
    }
}
