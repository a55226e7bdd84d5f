import Packets
import Timing

/// A deadline that can be set again and again without allocating: the handler is stored once.
///
/// The handler must not own the timer's owner; it captures it unowned.
final class AirTimer {
    private final class Slot {
        var handler: () -> Void
        var pending: Timer?
        init(_ handler: @escaping () -> Void) { self.handler = handler }
    }

    private let loop: RunLoop
    private let slot: Slot
    private let fire: () -> Void

    init(on loop: RunLoop, _ handler: @escaping () -> Void) {
        let slot = Slot(handler)
        self.loop = loop
        self.slot = slot
        fire = {
            slot.pending = nil
            slot.handler()
        }
    }

    deinit { cancel() }

    var isSet: Bool { slot.pending != nil }

    /// Sets the deadline, in place of one set before.
    func set(at deadline: Microseconds) {
        if let pending = slot.pending { loop.cancel(pending) }
        slot.pending = loop.schedule(at: deadline, fire)
    }

    func cancel() {
        guard let pending = slot.pending else { return }
        slot.pending = nil
        loop.cancel(pending)
    }
}
