import BBPackets

/// Decides when virtual time moves on a loop whose time other programs share.
public protocol TimeGate: AnyObject {
    /// Called when no job is ready and no deadline is due at the present time.
    ///
    /// - Parameter next: the loop's earliest deadline.
    func settle(next: Microseconds?) -> TimeStep
}

/// The next step of a loop with a gate.
public enum TimeStep: Sendable, Equatable {
    /// There is new work at the present time.
    case again
    /// Time moves to the next deadline, but not beyond `limit`.
    case move(limit: Microseconds)
    /// Time stands still. The loop waits for descriptors and other threads, at most until this time of the monotonic clock.
    case wait(until: Microseconds?)
}
