import Packets
import Timing

/// A deadline that can be set again and again without allocating: the loop keeps the handler.
///
/// The handler must not own the timer's owner; it captures it unowned.
final class AirTimer {
    private let loop: RunLoop
    private let timer: Timer

    init(on loop: RunLoop, _ handler: @escaping () -> Void) {
        self.loop = loop
        timer = loop.keep(handler)
    }

    deinit { loop.discard(timer) }

    var isSet: Bool { loop.isSet(timer) }

    /// Sets the deadline, in place of one set before.
    func set(at deadline: Microseconds) { loop.set(timer, at: deadline) }

    func cancel() { loop.unset(timer) }
}
