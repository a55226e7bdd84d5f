import BBPackets
import BBTiming

/// A reusable one-shot timer that allocates only once: the loop keeps the handler.
///
/// The handler must capture the owner of the timer unowned, otherwise it makes a reference cycle.
final class AirTimer {
    private let loop: RunLoop
    private let timer: Timer

    init(on loop: RunLoop, _ handler: @escaping () -> Void) {
        self.loop = loop
        timer = loop.keep(handler)
    }

    deinit { loop.discard(timer) }

    var isSet: Bool { loop.isSet(timer) }

    /// Sets the deadline and replaces an earlier one.
    func set(at deadline: Microseconds) { loop.set(timer, at: deadline) }

    func cancel() { loop.unset(timer) }
}
